"""From the types of `wire` to the generated bindings, which have the same names and fields."""

from dataclasses import fields, is_dataclass
from enum import Enum


def to_bindings(value, modules):
    """`value` with every type replaced by the one of the same name in `modules`."""
    if isinstance(value, list):
        return [to_bindings(item, modules) for item in value]
    if isinstance(value, Enum):
        return _named(value, modules)[value.name]
    if is_dataclass(value):
        inner = [to_bindings(getattr(value, field.name), modules) for field in fields(value)]
        return _named(value, modules)(*inner)
    return value


def _named(value, modules):
    name = type(value).__name__
    for module in modules:
        if hasattr(module, name):
            return getattr(module, name)
    raise LookupError(f"the contract has no {name}: the names in wire.py are those of wit/plugin.wit")

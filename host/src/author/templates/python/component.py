"""The component: what the host calls, handed on to the controller.

This is the one file that knows the generated bindings (`wit_world`), which exist only while the component is built
and inside of it. Everything else is plain Python, and tested as such.
"""

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import operator
from wit_world.imports import facts, plans, types

import controller
from windlass_sdk import Failure, call
from windlass_sdk.bridge import to_bindings

BINDINGS = (types, facts, plans, operator)


class Operator(exports.Operator):
    def describe(self) -> str:
        return controller.describe()

    def reconcile(self, request: operator.Request) -> operator.Step:
        return self._answer(controller.reconcile, request)

    def finalize(self, request: operator.Request) -> operator.Step:
        return self._answer(controller.finalize, request)

    def _answer(self, function, request):
        try:
            return to_bindings(call(function, request), BINDINGS)
        except Failure as failure:
            raise Err(to_bindings(failure.wire(), BINDINGS)) from failure

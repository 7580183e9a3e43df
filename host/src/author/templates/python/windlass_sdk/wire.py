"""What crosses between host and plugin, as `wit/plugin.wit` documents it.

Names are those of the generated bindings, so that `bridge` can turn one into the other. What this operator does not
need yet is left out here; add it with the name and the fields that it has in `wit/plugin.wit`.
"""

from dataclasses import dataclass, field
from enum import Enum


@dataclass(frozen=True)
class ObjectRef:
    api_version: str
    kind: str
    namespace: str | None
    name: str


@dataclass(frozen=True)
class SecretKey:
    namespace: str
    name: str
    key: str


@dataclass(frozen=True)
class Login:
    user: str
    passwords: list[SecretKey]


@dataclass(frozen=True)
class PodPort:
    pod: str
    uid: str
    port: int


# What a plugin may ask.


@dataclass(frozen=True)
class Namespaces_Same:
    pass


@dataclass(frozen=True)
class Namespaces_Every:
    pass


@dataclass(frozen=True)
class Namespaces_Named:
    value: list[str]


class Detail(Enum):
    WHOLE = 0
    METADATA = 1


@dataclass(frozen=True)
class ObjectQuery:
    api_version: str
    kind: str
    namespaces: Namespaces_Same | Namespaces_Every | Namespaces_Named
    selector: str
    detail: Detail


@dataclass(frozen=True)
class RedisQuery:
    target: PodPort
    login: Login | None
    commands: list[list[str]]
    timeout: int


class HttpMethod(Enum):
    GET = 0
    HEAD = 1


@dataclass(frozen=True)
class HttpTarget_Pod:
    value: PodPort


@dataclass(frozen=True)
class HttpTarget_External:
    value: str


@dataclass(frozen=True)
class HttpQuery:
    target: HttpTarget_Pod | HttpTarget_External
    method: HttpMethod
    path: str
    headers: list[tuple[str, str]]
    timeout: int


@dataclass(frozen=True)
class Question_Object:
    value: ObjectRef


@dataclass(frozen=True)
class Question_Objects:
    value: ObjectQuery


@dataclass(frozen=True)
class Question_Redis:
    value: RedisQuery


@dataclass(frozen=True)
class Question_Http:
    value: HttpQuery


Question = Question_Object | Question_Objects | Question_Redis | Question_Http


@dataclass(frozen=True)
class Requirement:
    id: str
    stage: int
    question: Question


# What it is told.


@dataclass(frozen=True)
class Reply:
    body: str
    password: int | None = None


@dataclass(frozen=True)
class Unreachable:
    why: str
    answered: bool
    since: int


@dataclass(frozen=True)
class Answer_Object:
    value: str | None


@dataclass(frozen=True)
class Answer_Objects:
    value: list[str]


@dataclass(frozen=True)
class Answer_Reply:
    value: Reply


@dataclass(frozen=True)
class Answer_Unreachable:
    value: Unreachable


@dataclass(frozen=True)
class Answer_Refused:
    value: str


Answer = Answer_Object | Answer_Objects | Answer_Reply | Answer_Unreachable | Answer_Refused


@dataclass(frozen=True)
class Fact:
    id: str
    answer: Answer


@dataclass(frozen=True)
class Deletion:
    namespace_terminating: bool
    deadline: int


@dataclass
class Request:
    object: str
    children: list[str] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    outcomes: list = field(default_factory=list)
    running: list = field(default_factory=list)
    available: list[str] = field(default_factory=list)
    now: int = 0
    config: str = "{}"
    deletion: Deletion | None = None


# What it decides.


class WhenDropped(Enum):
    DELETE = 0
    KEEP = 1


class Write(Enum):
    APPLY = 0
    CREATE_ONLY = 1


class WhenImmutable(Enum):
    REPORT = 0
    RECREATE = 1
    RECREATE_ORPHANING = 2


@dataclass
class Child:
    manifest: str
    when_dropped: WhenDropped = WhenDropped.DELETE
    write: Write = Write.APPLY
    when_immutable: WhenImmutable = WhenImmutable.REPORT
    shared: bool = False
    gzip: list[str] = field(default_factory=list)


@dataclass
class Metric:
    name: str
    labels: list[tuple[str, str]]


@dataclass
class Measurement:
    status: str | None
    metric: Metric | None
    value: str


@dataclass
class Refusal:
    field: str
    text: str


class Severity(Enum):
    NORMAL = 0
    WARNING = 1


@dataclass
class Event:
    about: ObjectRef
    severity: Severity
    reason: str
    text: str


class IfFailed(Enum):
    GO_ON = 0
    STOP = 1


@dataclass
class PatchAction:
    object: ObjectRef
    uid: str
    patch: str


@dataclass
class DeleteAction:
    object: ObjectRef
    uid: str
    grace_seconds: int | None = None
    wait: int = 0


@dataclass
class EvictAction:
    pod: str
    uid: str


@dataclass
class Effect_Patch:
    value: PatchAction


@dataclass
class Effect_Delete:
    value: DeleteAction


@dataclass
class Effect_Evict:
    value: EvictAction


@dataclass
class Action:
    id: str
    effect: Effect_Patch | Effect_Delete | Effect_Evict
    timeout: int = 10_000
    long: None = None


@dataclass
class ActionStep:
    actions: list[Action]
    if_failed: IfFailed = IfFailed.STOP


@dataclass
class Plan:
    children: list[Child] = field(default_factory=list)
    status: str | None = None
    measurements: list[Measurement] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    actions: list[ActionStep] = field(default_factory=list)
    requeue_after: int | None = None
    finalized: bool = False


@dataclass
class Step_Need:
    value: list[Requirement]


@dataclass
class Step_Plan:
    value: Plan


@dataclass
class Failure_Invalid:
    value: str


@dataclass
class Failure_Transient:
    value: str

"""What this operator is written against: straight code over the contract in `wit/`.

A function `reconcile(object, cx)` asks the context what it needs to know and returns a `Plan`. A question whose answer
is not there yet ends the call; the host gathers it and calls again from the top. So write as if every answer were
there, and ask with `cx.all(…)` what can be asked together.
"""

import hashlib
import json
from datetime import datetime, timezone

from . import wire
from .wire import Detail, Login, ObjectRef, PodPort, SecretKey

__all__ = [
    "Ask", "Conditions", "Context", "Detail", "Failure", "Invalid", "Login", "ObjectRef", "Plan", "PodPort",
    "SecretKey", "Transient", "Unreachable", "call", "suffixed",
]

# Services, Pods' host names and label values; most other objects.
LABEL_LIMIT = 63
NAME_LIMIT = 253

# Conditions that are the host's: a plugin neither sets nor repeats them.
OF_THE_HOST = ("Synced", "SpecAccepted")


class Failure(Exception):
    """Why there is no plan."""

    def wire(self):
        return wire.Failure_Transient(str(self))


class Transient(Failure):
    """Try again, with back-off."""


class Invalid(Failure):
    """This spec can never work. Only for an object that never ran; else `plan.refuse` the field."""

    def wire(self):
        return wire.Failure_Invalid(str(self))


class NotYet(Exception):
    """A fact is not there yet: ends the call."""


class Unreachable(Exception):
    """A target that did not answer. It is a fact, not a failure: `answer()` returns it, it is never raised."""

    def __init__(self, why: str, answered: bool, since: int):
        super().__init__(why)
        self.answered = answered
        self.since = since


class Ask:
    """A question. `answer()` gives its answer, or ends the call until there is one."""

    def __init__(self, context: "Context", question: wire.Question, read):
        self._context, self._question, self._read = context, question, read
        self._stage = 0

    def stage(self, stage: int) -> "Ask":
        """Asks after everything of lower stages is answered, and again whenever one of them is asked anew."""
        self._stage = stage
        return self

    def answer(self):
        answer = self.note()
        if answer is None:
            raise NotYet
        return self._read(_told(answer))

    def note(self):
        """Notes that the answer is required, and returns it if it is there."""
        return self._context._ask(self._stage, self._question)


class Context:
    """Everything that is known at the time of a call, and the way to ask for more."""

    def __init__(self, request: wire.Request):
        self._request = request
        self._facts = {fact.id: fact.answer for fact in request.facts}
        self._asked: dict[str, wire.Requirement] = {}
        self.object: dict = json.loads(request.object)
        self.metadata: dict = self.object["metadata"]
        self.name: str = self.metadata["name"]
        self.namespace: str = self.metadata.get("namespace", "")
        # The round's time in milliseconds since the epoch; it does not move during a round.
        self.now: int = request.now
        self.config: dict = json.loads(request.config)
        # While the object is being deleted.
        self.deletion = request.deletion

    @property
    def this(self) -> ObjectRef:
        """The object itself, to be named in an Event."""
        return ObjectRef(self.object["apiVersion"], self.object["kind"], self.namespace or None, self.name)

    def time(self) -> str:
        """The round's time as Kubernetes writes it."""
        return datetime.fromtimestamp(self.now // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def available(self, grant: str) -> bool:
        """True when this is granted, and served by the cluster."""
        return grant in self._request.available

    def child(self, kind: str, name: str) -> dict | None:
        """The live child of that kind (`apps/v1/Deployment`) and name, if it is there."""
        for text in self._request.children:
            child = json.loads(text)
            if f"{child['apiVersion']}/{child['kind']}" == kind and child["metadata"]["name"] == name:
                return child
        return None

    def pods(self, selector: str) -> Ask:
        """Pods of the object's namespace, by label selector."""
        return self.objects("v1/Pod", selector)

    def objects(self, kind: str, selector: str = "", detail: Detail = Detail.WHOLE) -> Ask:
        """Objects of a kind (`v1/Pod`) in the object's namespace: a list of dicts."""
        version, name = kind.rsplit("/", 1)
        query = wire.ObjectQuery(version, name, wire.Namespaces_Same(), selector, detail)
        return Ask(self, wire.Question_Objects(query), lambda texts: [json.loads(text) for text in texts])

    def get(self, kind: str, name: str) -> Ask:
        """One object of the object's namespace: a dict, or None where there is no such object."""
        version, of = kind.rsplit("/", 1)
        reference = ObjectRef(version, of, self.namespace or None, name)
        return Ask(self, wire.Question_Object(reference), lambda text: text and json.loads(text))

    def redis(self, target: PodPort, login: Login | None, *commands: list[str], timeout: int = 1000) -> Ask:
        """Read-only commands on a Redis server: a list of {"ok": …} or {"error": …}, or `Unreachable`."""
        query = wire.RedisQuery(target, login, list(commands), timeout)
        return Ask(self, wire.Question_Redis(query), _reply)

    def http(self, target: PodPort, path: str, timeout: int = 1000) -> Ask:
        """An HTTP GET on a Pod: {"status", "headers", "body"}, or `Unreachable`."""
        query = wire.HttpQuery(wire.HttpTarget_Pod(target), wire.HttpMethod.GET, path, [], timeout)
        return Ask(self, wire.Question_Http(query), _reply)

    def all(self, *asks: Ask) -> list:
        """The answers of several questions, asked at the same time."""
        for ask in asks:
            ask.note()
        return [ask.answer() for ask in asks]

    def requirements(self) -> list[wire.Requirement]:
        return sorted(self._asked.values(), key=lambda requirement: requirement.stage)

    def _ask(self, stage: int, question: wire.Question):
        digest = hashlib.sha256(repr((stage, question)).encode()).hexdigest()[:16]
        id = f"{stage}/{type(question).__name__.lower()}/{digest}"
        self._asked[id] = wire.Requirement(id, stage, question)
        return self._facts.get(id)


def _told(answer):
    """The value of an answer; without the grant there is none."""
    match type(answer).__name__:
        case "Answer_Refused":
            raise Transient(f"the grant {answer.value} is missing: add it to the Plugin's spec.grants")
        case "Answer_Unreachable":
            return Unreachable(answer.value.why, answer.value.answered, answer.value.since)
        case _:
            return answer.value


def _reply(told):
    return told if isinstance(told, Unreachable) else json.loads(told.body)


class Plan:
    """The whole of what should be. Effects happen in this order: children, status, prune, actions."""

    def __init__(self):
        self._plan = wire.Plan()

    @classmethod
    def finalized(cls) -> "Plan":
        """From `finalize` only: nothing is left to do."""
        plan = cls()
        plan._plan.finalized = True
        return plan

    def child(self, manifest: dict, **options) -> None:
        """Adds an object that should exist, whole. `options` are fields of `wire.Child`, such as
        `when_dropped=WhenDropped.KEEP`."""
        self._plan.children.append(wire.Child(json.dumps(manifest), **options))

    def status(self, status: dict) -> None:
        """Sets the plugin's part of status, conditions included."""
        self._plan.status = json.dumps(status)

    def refuse(self, field: str, text: str) -> None:
        """Says that a field of the spec is not followed while the rest keeps running: why, and what to do."""
        self._plan.refusals.append(wire.Refusal(field, text))

    def event(self, about: ObjectRef, reason: str, text: str, warning: bool = False) -> None:
        """Adds an Event for people."""
        severity = wire.Severity.WARNING if warning else wire.Severity.NORMAL
        self._plan.events.append(wire.Event(about, severity, reason, text))

    def metric(self, name: str, value: float, **labels: str) -> None:
        """Adds a figure that changes all the time: a gauge, never a part of status."""
        metric = wire.Metric(name, sorted(labels.items()))
        self._plan.measurements.append(wire.Measurement(None, metric, json.dumps(value)))

    def step(self, *actions: wire.Action) -> None:
        """Actions that run at the same time, after status is stored."""
        if actions:
            self._plan.actions.append(wire.ActionStep(list(actions)))

    def requeue_after(self, milliseconds: int) -> None:
        """Looks again after this long even if nothing happens."""
        self._plan.requeue_after = max(milliseconds, 500)

    def wire(self) -> wire.Plan:
        return self._plan


class Conditions:
    """Conditions that keep their transition times, beginning with those of the status as received."""

    def __init__(self, cx: Context):
        received = cx.object.get("status", {}).get("conditions", [])
        self._known = {known["type"]: known for known in received if known["type"] not in OF_THE_HOST}
        self._cx = cx

    def set(self, type: str, status: str, reason: str, message: str) -> None:
        """`status` is True, False or Unknown; `reason` is one word in CamelCase."""
        known = self._known.get(type)
        since = known["lastTransitionTime"] if known and known["status"] == status else self._cx.time()
        self._known[type] = {
            "type": type, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": since, "observedGeneration": self._cx.metadata.get("generation", 0),
        }

    def is_true(self, type: str) -> bool:
        return self._known.get(type, {}).get("status") == "True"

    def list(self) -> list[dict]:
        """Sorted by type, so that equal sets are equal lists."""
        return [self._known[type] for type in sorted(self._known)]


def suffixed(base: str, suffix: str, limit: int = NAME_LIMIT) -> str:
    """`base-suffix`, shortened in the base and kept unique by a digest where it would be too long."""
    whole = f"{base}-{suffix}"
    if len(whole) <= limit:
        return whole
    digest = hashlib.sha256(base.encode()).hexdigest()[:8]
    head = base[: limit - len(suffix) - len(digest) - 2].rstrip("-.")
    return f"{head}-{digest}-{suffix}"


def call(function, request: wire.Request):
    """One call: a step, or a `Failure`."""
    cx = Context(request)
    try:
        return wire.Step_Plan(function(cx.object, cx).wire())
    except NotYet:
        return wire.Step_Need(cx.requirements())

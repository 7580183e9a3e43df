// What this operator is written against: straight code over the contract in `wit/`.
//
// A function `reconcile(object, cx)` asks the context what it needs to know and returns a `Plan`. A question whose
// answer is not there yet ends the call; the host gathers it and calls again from the top. So write as if every answer
// were there, and ask with `cx.all(…)` what can be asked together. What is missing here stands in `wit/plugin.wit`:
// records are objects with fields in camelCase, variants `{tag, val}`, 64-bit numbers BigInts.

/** @typedef {{apiVersion: string, kind: string, namespace?: string, name: string}} ObjectRef */
/** @typedef {{pod: string, uid: string, port: number}} PodPort */

// Services, Pods' host names and label values; most other objects.
export const LABEL_LIMIT = 63;
export const NAME_LIMIT = 253;

// Conditions that are the host's: a plugin neither sets nor repeats them.
const OF_THE_HOST = ["Synced", "SpecAccepted"];

// A fact is not there yet: ends the call.
const NOT_YET = Symbol("not yet");

/** Why there is no plan: try again, with back-off. */
export class Transient extends Error {
  get payload() {
    return { tag: "transient", val: this.message };
  }
}

/** This spec can never work. Only for an object that never ran; else `plan.refuse` the field. */
export class Invalid extends Error {
  get payload() {
    return { tag: "invalid", val: this.message };
  }
}

/** A target that did not answer. It is a fact, not a failure: `answer()` returns it. */
export class Unreachable {
  constructor(why, answered, since) {
    this.why = why;
    this.answered = answered;
    this.since = since;
  }
}

/** A question. `answer()` gives its answer, or ends the call until there is one. */
class Ask {
  #context;
  #question;
  #read;
  #stage = 0;

  constructor(context, question, read) {
    this.#context = context;
    this.#question = question;
    this.#read = read;
  }

  /** Asks after everything of lower stages is answered, and again whenever one of them is asked anew. */
  stage(stage) {
    this.#stage = stage;
    return this;
  }

  answer() {
    const answer = this.note();
    if (answer === undefined) throw NOT_YET;
    return this.#read(told(answer));
  }

  /** Notes that the answer is required, and returns it if it is there. */
  note() {
    return this.#context.ask(this.#stage, this.#question);
  }
}

/** Everything that is known at the time of a call, and the way to ask for more. */
export class Context {
  #request;
  #facts;
  #asked = new Map();

  constructor(request) {
    this.#request = request;
    this.#facts = new Map(request.facts.map(({ id, answer }) => [id, answer]));
    this.object = JSON.parse(request.object);
    this.metadata = this.object.metadata;
    this.name = this.metadata.name;
    this.namespace = this.metadata.namespace ?? "";
    /** The round's time in milliseconds since the epoch; it does not move during a round. */
    this.now = Number(request.now);
    this.config = JSON.parse(request.config);
    /** While the object is being deleted. */
    this.deletion = request.deletion;
  }

  /** The object itself, to be named in an Event. @returns {ObjectRef} */
  get this() {
    const { apiVersion, kind } = this.object;
    return { apiVersion, kind, namespace: this.metadata.namespace, name: this.name };
  }

  /** The round's time as Kubernetes writes it. */
  time() {
    return new Date(this.now).toISOString().replace(/\.\d+Z$/, "Z");
  }

  /** True when this is granted, and served by the cluster. */
  available(grant) {
    return this.#request.available.includes(grant);
  }

  /** The live child of that kind (`apps/v1/Deployment`) and name, if it is there. */
  child(kind, name) {
    const children = this.#request.children.map((text) => JSON.parse(text));
    return children.find((it) => `${it.apiVersion}/${it.kind}` === kind && it.metadata.name === name);
  }

  /** Pods of the object's namespace, by label selector. */
  pods(selector) {
    return this.objects("v1/Pod", selector);
  }

  /** Objects of a kind (`v1/Pod`) in the object's namespace. */
  objects(kind, selector = "") {
    const namespaces = { tag: "same" };
    const val = { ...splitKind(kind), namespaces, selector, detail: "whole" };
    return new Ask(this, { tag: "objects", val }, (texts) => texts.map((text) => JSON.parse(text)));
  }

  /** One object of the object's namespace, or undefined where there is no such object. */
  get(kind, name) {
    const val = { ...splitKind(kind), namespace: this.metadata.namespace, name };
    return new Ask(this, { tag: "object", val }, (text) => (text ? JSON.parse(text) : undefined));
  }

  /** Read-only commands on a Redis server: a list of {ok} or {error}, or `Unreachable`. @param {PodPort} target */
  redis(target, login, commands, timeout = 1000) {
    const val = { target, login, commands, timeout: BigInt(timeout) };
    return new Ask(this, { tag: "redis", val }, reply);
  }

  /** An HTTP GET on a Pod: {status, headers, body}, or `Unreachable`. @param {PodPort} target */
  http(target, path, timeout = 1000) {
    const pod = { tag: "pod", val: target };
    const val = { target: pod, method: "get", path, headers: [], timeout: BigInt(timeout) };
    return new Ask(this, { tag: "http", val }, reply);
  }

  /** The answers of several questions, asked at the same time. */
  all(...asks) {
    for (const ask of asks) ask.note();
    return asks.map((ask) => ask.answer());
  }

  requirements() {
    return [...this.#asked.values()].sort((one, other) => one.stage - other.stage);
  }

  ask(stage, question) {
    const id = `${stage}/${question.tag}/${digest(text(question))}`;
    this.#asked.set(id, { id, stage, question });
    return this.#facts.get(id);
  }
}

function splitKind(kind) {
  const at = kind.lastIndexOf("/");
  return { apiVersion: kind.slice(0, at), kind: kind.slice(at + 1) };
}

/** The value of an answer; without the grant there is none. */
function told({ tag, val }) {
  if (tag === "refused") throw new Transient(`the grant ${val} is missing: add it to the Plugin's spec.grants`);
  if (tag === "unreachable") return new Unreachable(val.why, val.answered, Number(val.since));
  return val;
}

function reply(told) {
  return told instanceof Unreachable ? told : JSON.parse(told.body);
}

/** The whole of what should be. Effects happen in this order: children, status, prune, actions. */
export class Plan {
  #plan = {
    children: [],
    status: undefined,
    measurements: [],
    refusals: [],
    events: [],
    actions: [],
    requeueAfter: undefined,
    finalized: false,
  };

  /** From `finalize` only: nothing is left to do. */
  static finalized() {
    const plan = new Plan();
    plan.#plan.finalized = true;
    return plan;
  }

  /** Adds an object that should exist, whole. `options` are fields of the record `child`, such as
   * `{whenDropped: "keep"}`. */
  child(manifest, options = {}) {
    this.#plan.children.push({
      manifest: JSON.stringify(manifest),
      whenDropped: "delete",
      write: "apply",
      whenImmutable: "report",
      shared: false,
      gzip: [],
      ...options,
    });
  }

  /** Sets the plugin's part of status, conditions included. */
  status(status) {
    this.#plan.status = JSON.stringify(status);
  }

  /** Says that a field of the spec is not followed while the rest keeps running: why, and what to do. */
  refuse(field, text) {
    this.#plan.refusals.push({ field, text });
  }

  /** Adds an Event for people. `severity` is normal or warning. @param {ObjectRef} about */
  event(about, reason, text, severity = "normal") {
    this.#plan.events.push({ about, severity, reason, text });
  }

  /** Adds a figure that changes all the time: a gauge, never a part of status. */
  metric(name, value, labels = {}) {
    const metric = { name, labels: Object.entries(labels).sort() };
    this.#plan.measurements.push({ status: undefined, metric, value: JSON.stringify(value) });
  }

  /** Actions that run at the same time, after status is stored. */
  step(...actions) {
    if (actions.length > 0) this.#plan.actions.push({ actions, ifFailed: "stop" });
  }

  /** Looks again after this long even if nothing happens. */
  requeueAfter(milliseconds) {
    this.#plan.requeueAfter = BigInt(Math.max(milliseconds, 500));
  }

  wire() {
    return this.#plan;
  }
}

/** Conditions that keep their transition times, beginning with those of the status as received. */
export class Conditions {
  #cx;
  #known;

  /** @param {Context} cx */
  constructor(cx) {
    const received = (cx.object.status?.conditions ?? []).filter(({ type }) => !OF_THE_HOST.includes(type));
    this.#cx = cx;
    this.#known = new Map(received.map((known) => [known.type, known]));
  }

  /** `status` is True, False or Unknown; `reason` is one word in CamelCase. */
  set(type, status, reason, message) {
    const known = this.#known.get(type);
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : this.#cx.time();
    const observedGeneration = this.#cx.metadata.generation ?? 0;
    this.#known.set(type, { type, status, reason, message, lastTransitionTime, observedGeneration });
  }

  isTrue(type) {
    return this.#known.get(type)?.status === "True";
  }

  /** Sorted by type, so that equal sets are equal lists. */
  list() {
    return [...this.#known.keys()].sort().map((type) => this.#known.get(type));
  }
}

/** `base-suffix`, shortened in the base and kept unique by a digest where it would be too long. */
export function suffixed(base, suffix, limit = NAME_LIMIT) {
  const whole = `${base}-${suffix}`;
  if (whole.length <= limit) return whole;
  const mark = digest(base).slice(0, 8);
  const head = base.slice(0, limit - suffix.length - mark.length - 2).replace(/[-.]+$/, "");
  return `${head}-${mark}-${suffix}`;
}

/** 64 bits of FNV-1a as hexadecimal digits: tells texts apart, and protects nothing. */
export function digest(text) {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, "0");
}

function text(question) {
  return JSON.stringify(question, (_, value) => (typeof value === "bigint" ? value.toString() : value));
}

/** One call: a step. Throws a `Transient` or an `Invalid`. */
export function call(decide, request) {
  const cx = new Context(request);
  try {
    return { tag: "plan", val: decide(cx.object, cx).wire() };
  } catch (thrown) {
    if (thrown === NOT_YET) return { tag: "need", val: cx.requirements() };
    throw thrown instanceof Error && thrown.payload ? { payload: thrown.payload } : thrown;
  }
}

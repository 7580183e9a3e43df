// Running a controller natively against a made-up world, as the host would.
import { call } from "./index.js";

// Calls that a round may take.
const CALLS = 16;

/** Calls until there is a plan. `objects` is the world: what is asked for is looked up there by kind and name, and
 * selectors are taken as matching. */
export function runRound(decide, object, { objects = [], children = [], now = 0, available = [] } = {}) {
  const request = {
    object: JSON.stringify(object),
    children: children.map((child) => JSON.stringify(child)),
    facts: [],
    outcomes: [],
    running: [],
    available,
    now: BigInt(now),
    config: "{}",
    deletion: undefined,
  };
  for (let calls = 0; calls < CALLS; calls += 1) {
    const step = call(decide, request);
    if (step.tag === "plan") return step.val;
    request.facts = step.val.map(({ id, question }) => ({ id, answer: look(question, objects) }));
  }
  throw new Error(`no plan after ${CALLS} calls`);
}

function look({ tag, val }, objects) {
  const ofKind = objects.filter((it) => it.apiVersion === val.apiVersion && it.kind === val.kind);
  const found = ofKind.find((it) => it.metadata.name === val.name);
  switch (tag) {
    case "objects":
      return { tag, val: ofKind.map((it) => JSON.stringify(it)) };
    case "object":
      return { tag, val: found && JSON.stringify(found) };
    default:
      return { tag: "unreachable", val: { why: "nobody answers in a test", answered: false, since: 0n } };
  }
}

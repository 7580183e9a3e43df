// How it goes: what Pods say, in one condition. Pure, and tested as a table.

/** Judges the Pods of a Website of which so many should serve.
 * @returns {{ready: number, status: "True" | "False", reason: string, message: string}} */
export function readiness(wanted, pods) {
  const ready = pods.filter(serves).length;
  const served = `${ready} of ${wanted} Pods serve the page`;
  const [trouble] = pods.map(troubleOf).filter(Boolean);
  if (wanted === 0) return { ready, status: "False", reason: "SwitchedOff", message: "spec.replicas is 0" };
  if (ready >= wanted) return { ready, status: "True", reason: "Serving", message: served };
  if (trouble) return { ready, status: "False", reason: "PodsInTrouble", message: `${served}: ${trouble}` };
  return { ready, status: "False", reason: "Starting", message: served };
}

function serves(pod) {
  const conditions = pod.status?.conditions ?? [];
  const ready = conditions.some(({ type, status }) => type === "Ready" && status === "True");
  return ready && !pod.metadata.deletionTimestamp;
}

/** What keeps a Pod from starting, in the kubelet's words. */
function troubleOf(pod) {
  const reasons = (pod.status?.containerStatuses ?? []).map(({ state }) => state?.waiting?.reason);
  const reason = reasons.find((it) => it && it !== "ContainerCreating");
  return reason && `${pod.metadata.name} waits, ${reason}`;
}

// The component: what the host calls, handed on to the controller.
import { CRD } from "./generated/crd.js";
import * as controller from "./controller.js";
import { call } from "./windlass-sdk/index.js";

export const operator = {
  describe: () => JSON.stringify(controller.describe(CRD)),
  reconcile: (request) => call(controller.reconcile, request),
  finalize: (request) => call(controller.finalize, request),
};

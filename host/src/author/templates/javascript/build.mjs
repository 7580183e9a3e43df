// Makes the component: `node build.mjs FILE`, which `windlass plugin build` calls.
import { componentize } from "@bytecodealliance/componentize-js";
import { mkdir, readFile, writeFile } from "node:fs/promises";

const [output] = process.argv.slice(2);

// Inside of the component there are no files: what describe tells goes in as source.
const crd = await readFile("crd.yaml", "utf8");
await mkdir("generated", { recursive: true });
await writeFile("generated/crd.js", `export const CRD = ${JSON.stringify(crd)};\n`);

const { component } = await componentize({
  sourcePath: "component.js",
  witPath: "wit",
  worldName: "plugin",
  // What no plugin is given.
  disableFeatures: ["random", "stdio", "clocks", "http", "fetch-event"],
});
await writeFile(output, component);

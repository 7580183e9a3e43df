// The objects that a Website consists of. Only fields that this operator decides about are filled in: the rest is the
// API server's to fill, and other people's to set.
import { digest, suffixed } from "./windlass-sdk/index.js";

// What all Pods of this operator carry: the host watches no others for it.
export const MANAGED = "app.kubernetes.io/managed-by=website-operator";

// Below 1024 Pods would need to be root.
const PORT = 8080;

// Nobody.
const USER = 65534;

/** What a visitor sees. What people wrote is text and stays text, whatever it holds. */
export function page({ title, text = "" }) {
  const heading = escaped(title);
  return `<!doctype html>\n<meta charset="utf-8">\n<title>${heading}</title>\n<h1>${heading}</h1>\n<p>${escaped(text)}</p>\n`;
}

/** The page, as a file to be mounted. */
export function configMap(owner, spec) {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: suffixed(owner, "page"), labels: labels(owner) },
    data: { "index.html": page(spec) },
  };
}

/** The Pods that serve it. The page's digest stands on them, so that a changed page rolls them. */
export function deployment(owner, spec) {
  const annotations = { "web.example.com/page": digest(page(spec)) };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: owner, labels: labels(owner) },
    spec: {
      replicas: spec.replicas,
      selector: { matchLabels: labels(owner) },
      template: { metadata: { labels: labels(owner), annotations }, spec: pod(owner, spec) },
    },
  };
}

/** How it is found. */
export function service(owner) {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: owner, labels: labels(owner) },
    spec: {
      selector: labels(owner),
      ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: "http" }],
    },
  };
}

/** The selector of one Website's Pods. */
export function selector(owner) {
  return Object.entries(labels(owner)).map(([key, value]) => `${key}=${value}`).join(",");
}

function pod(owner, spec) {
  return {
    containers: [
      {
        name: "web",
        image: spec.image,
        command: ["busybox", "httpd", "-f", "-p", String(PORT), "-h", "/page"],
        ports: [{ name: "http", containerPort: PORT, protocol: "TCP" }],
        readinessProbe: { httpGet: { path: "/", port: "http" }, periodSeconds: 2 },
        volumeMounts: [{ name: "page", mountPath: "/page" }],
      },
    ],
    securityContext: { runAsNonRoot: true, runAsUser: USER },
    volumes: [{ name: "page", configMap: { name: suffixed(owner, "page") } }],
    // BusyBox as process 1 ignores being asked to end.
    terminationGracePeriodSeconds: 1,
  };
}

function labels(owner) {
  return {
    "app.kubernetes.io/instance": owner,
    "app.kubernetes.io/managed-by": "website-operator",
    "app.kubernetes.io/name": "website",
  };
}

function escaped(text) {
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[&<>"]/g, (letter) => names[letter]);
}

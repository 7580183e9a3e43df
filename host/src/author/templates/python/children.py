"""The objects that a Website consists of. Only fields that this operator decides about are filled in: the rest is the
API server's to fill, and other people's to set."""

import hashlib
import html

from windlass_sdk import suffixed

# What all Pods of this operator carry: the host watches no others for it.
MANAGED = "app.kubernetes.io/managed-by=website-operator"

# Below 1024 Pods would need to be root.
PORT = 8080

# Nobody.
USER = 65534


def page(spec: dict) -> str:
    """What a visitor sees. What people wrote is text and stays text, whatever it holds."""
    title, text = html.escape(spec["title"]), html.escape(spec.get("text", ""))
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>{title}</title>\n<h1>{title}</h1>\n<p>{text}</p>\n'


def config_map(owner: str, spec: dict) -> dict:
    """The page, as a file to be mounted."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": suffixed(owner, "page"), "labels": labels(owner)},
        "data": {"index.html": page(spec)},
    }


def deployment(owner: str, spec: dict) -> dict:
    """The Pods that serve it. The page's digest stands on them, so that a changed page rolls them."""
    digest = hashlib.sha256(page(spec).encode()).hexdigest()[:16]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": owner, "labels": labels(owner)},
        "spec": {
            "replicas": spec["replicas"],
            "selector": {"matchLabels": labels(owner)},
            "template": {
                "metadata": {"labels": labels(owner), "annotations": {"web.example.com/page": digest}},
                "spec": pod(owner, spec),
            },
        },
    }


def service(owner: str) -> dict:
    """How it is found."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": owner, "labels": labels(owner)},
        "spec": {
            "selector": labels(owner),
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": "http"}],
        },
    }


def pod(owner: str, spec: dict) -> dict:
    return {
        "containers": [{
            "name": "web",
            "image": spec["image"],
            "command": ["busybox", "httpd", "-f", "-p", str(PORT), "-h", "/page"],
            "ports": [{"name": "http", "containerPort": PORT, "protocol": "TCP"}],
            "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 2},
            "volumeMounts": [{"name": "page", "mountPath": "/page"}],
        }],
        "securityContext": {"runAsNonRoot": True, "runAsUser": USER},
        "volumes": [{"name": "page", "configMap": {"name": suffixed(owner, "page")}}],
        # BusyBox as process 1 ignores being asked to end.
        "terminationGracePeriodSeconds": 1,
    }


def labels(owner: str) -> dict:
    return {
        "app.kubernetes.io/instance": owner,
        "app.kubernetes.io/managed-by": "website-operator",
        "app.kubernetes.io/name": "website",
    }


def selector(owner: str) -> str:
    """The selector of one Website's Pods."""
    return ",".join(f"{key}={value}" for key, value in labels(owner).items())

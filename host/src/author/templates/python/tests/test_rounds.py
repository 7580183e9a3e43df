"""Whole rounds against a made-up world: what a user would see."""

import json
import sys
import unittest
from pathlib import Path

PROJECT = Path(__file__).parent.parent
sys.path.insert(0, str(PROJECT))

from children import page  # noqa: E402
from controller import describe, reconcile  # noqa: E402
from readiness import readiness  # noqa: E402
from windlass_sdk.testing import run_round  # noqa: E402


def website(**spec) -> dict:
    """As an API server hands it over: with the defaults of the CRD."""
    return {
        "apiVersion": "web.example.com/v1",
        "kind": "Website",
        "metadata": {"name": "hello", "namespace": "default", "generation": 1},
        "spec": {"title": "Hello", "text": "", "replicas": 2, "image": "busybox", **spec},
    }


def pod(name: str, ready: str = "True", waiting: str | None = None) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [{"state": {"waiting": {"reason": waiting}} if waiting else {}}],
        },
    }


def plan(object: dict, *pods: dict):
    return run_round(reconcile, object, objects=list(pods), now=60_000)


class Rounds(unittest.TestCase):
    def test_a_new_website_gets_its_page_its_pods_and_an_address(self):
        made = plan(website())
        kinds = [json.loads(child.manifest)["kind"] for child in made.children]
        self.assertEqual(kinds, ["ConfigMap", "Deployment", "Service"])
        status = json.loads(made.status)
        self.assertEqual(status["conditions"][0]["reason"], "Starting")
        self.assertEqual(status["url"], "http://hello.default.svc")
        self.assertEqual(made.events, [])

    def test_it_is_ready_once_its_pods_are_and_says_so_once(self):
        object, pods = website(), [pod("hello-1"), pod("hello-2")]
        first = plan(object, *pods)
        self.assertEqual(first.events[0].reason, "Published")
        object["status"] = json.loads(first.status)
        second = plan(object, *pods)
        self.assertEqual(second.events, [])
        self.assertEqual(second.status, first.status, "nothing changes when nothing happens")

    def test_a_changed_page_rolls_the_pods(self):
        before, after = plan(website()), plan(website(text="!"))
        self.assertNotEqual(before.children[1], after.children[1])

    def test_text_cannot_become_markup(self):
        self.assertNotIn("<b>", page({"title": "<b>", "text": "<b>"}))

    def test_the_plugin_is_granted_exactly_what_it_asks_for(self):
        lines = (PROJECT / "plugin.yaml").read_text().splitlines()
        granted = sorted(line.split()[1] for line in lines if line.strip().startswith("- "))
        asked = json.loads(describe())
        asks = [f"own:{kind}" for kind in asked["owns"]] + [f"read:{read['kind']}" for read in asked["reads"]]
        self.assertEqual(granted, sorted(asks))


class Readiness(unittest.TestCase):
    def test_the_condition_says_how_it_goes(self):
        up, starting = pod("a"), pod("b", "False", "ContainerCreating")
        stuck = pod("c", "False", "ImagePullBackOff")
        for name, wanted, pods, reason, message in [
            ("nothing yet", 1, [], "Starting", "0 of 1 Pods serve the page"),
            ("on the way", 1, [starting], "Starting", "0 of 1 Pods serve the page"),
            ("there", 1, [up], "Serving", "1 of 1 Pods serve the page"),
            ("one is stuck", 2, [up, stuck], "PodsInTrouble",
             "1 of 2 Pods serve the page: c waits, ImagePullBackOff"),
            ("switched off", 0, [], "SwitchedOff", "spec.replicas is 0"),
        ]:
            with self.subTest(name):
                said = readiness(wanted, pods)
                self.assertEqual((said.reason, said.message), (reason, message))


if __name__ == "__main__":
    unittest.main()

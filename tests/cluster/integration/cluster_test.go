package integration

import (
	"bufio"
	"errors"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestTwoClustersSideBySideLeaveNothing(t *testing.T) {
	h := newHome(t)
	compare := h.machineBefore()

	var both sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		both.Go(func() {
			if output, err := h.command("up", "--name", name).CombinedOutput(); err != nil {
				t.Errorf("up %s: %v: %s", name, err, output)
			}
		})
	}
	both.Wait()
	if t.Failed() {
		return
	}
	one, two := h.mustBeHealthy("one"), h.mustBeHealthy("two")
	if one.Node.PodRange == two.Node.PodRange {
		t.Errorf("both clusters have Pods in %s", one.Node.PodRange)
	}
	for _, name := range []string{"one", "two"} {
		h.kubectl(name, "create", "deployment", "idle", "--image=windlass.dev/pause:1", "--replicas=2")
	}
	for _, name := range []string{"one", "two"} {
		h.kubectl(name, "rollout", "status", "deployment/idle", "--timeout=2m")
		h.podIsReachable(name)
	}

	t.Run("a second up changes nothing", func(t *testing.T) {
		h.run("up", "--name", "one")
		if now := h.status("one").pids(); !maps.Equal(now, one.pids()) {
			t.Errorf("processes were %v and are %v", one.pids(), now)
		}
	})
	t.Run("a stopped API server comes back with its objects", func(t *testing.T) {
		h.run("stop-component", "--name", "one", "kube-apiserver")
		if stopped := h.status("one"); stopped.Healthy {
			t.Error("healthy without its API server")
		}
		if complaint := h.fails("container-pid", "--name", "one", "default/none"); !strings.Contains(complaint, "default/none") {
			t.Errorf("containerd was not asked for the Pod: %s", complaint)
		}
		h.run("start-component", "--name", "one", "kube-apiserver")
		h.kubectl("one", "get", "deployment", "idle")
	})
	t.Run("up starts what was stopped", func(t *testing.T) {
		h.run("stop-component", "--name", "one", "kube-scheduler")
		h.run("up", "--name", "one")
		h.mustBeHealthy("one")
	})
	t.Run("the process of a Pod is in the Pod's network", func(t *testing.T) { h.podProcess(t) })
	t.Run("the audit log names who made an object", func(t *testing.T) {
		log, err := os.ReadFile(one.AuditLog)
		if err != nil {
			t.Fatal(err)
		}
		if !auditShows(string(log), `"verb":"create"`, `"username":"admin"`, `"userAgent":"kubectl/`, `"resource":"deployments"`) {
			t.Error("no line of the audit log shows kubectl creating the deployment")
		}
	})

	h.run("down", "--name", "one")
	h.mustBeHealthy("two")
	h.podIsReachable("two")
	h.run("down", "--name", "two")
	h.nothingRuns()
	compare()
}

func auditShows(log string, parts ...string) bool {
	for _, line := range strings.Split(log, "\n") {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			return true
		}
	}
	return false
}

// podIsReachable relies on nobody listening in the pause image: a Pod's own kernel refuses, which only one that is
// reached can do.
func (h home) podIsReachable(cluster string) {
	h.t.Helper()
	address := h.kubectl(cluster, "get", "pods", "--output=jsonpath={.items[0].status.podIP}")
	_, err := net.DialTimeout("tcp", net.JoinHostPort(address, "9"), 10*time.Second)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		h.t.Errorf("Pod %s of cluster %s is not reachable from the machine: %v", address, cluster, err)
	}
}

func (h home) podProcess(t *testing.T) {
	pod := h.kubectl("one", "get", "pods", "--output=jsonpath={.items[0].metadata.name}")
	address := h.kubectl("one", "get", "pod", pod, "--output=jsonpath={.status.podIP}")
	pid := h.run("container-pid", "--name", "one", "default/"+pod)
	output, err := exec.Command("nsenter", "--target", pid, "--net", "ip", "-brief", "address").CombinedOutput()
	if err != nil || !strings.Contains(string(output), address+"/") {
		t.Errorf("process %s of Pod %s has not its address %s: %v: %s", pid, pod, address, err, output)
	}
	routes, err := h.command("exec-netns", "--name", "one", "--", "ip", "route").Output()
	if err != nil || !strings.Contains(string(routes), "dev cni0") {
		t.Errorf("the cluster's network namespace has no bridge: %v: %s", err, routes)
	}
}

func TestAHalfMadeClusterIsMadeAgainOrRemoved(t *testing.T) {
	h := newHome(t)
	compare := h.machineBefore()

	h.killUpAfter("containerd")
	if found := h.status("half"); found.Healthy || !strings.Contains(found.Problem, "half-made") {
		t.Errorf("the status does not tell that the cluster is half-made: %+v", found)
	}
	h.run("up", "--name", "half")
	h.mustBeHealthy("half")
	h.run("down", "--name", "half")

	h.killUpAfter("certificates")
	h.run("down", "--name", "half")
	h.nothingRuns()
	compare()
}

// killUpAfter ends `up` without giving it a chance to clean up, once it has told of the stage.
func (h home) killUpAfter(stage string) {
	h.t.Helper()
	up := h.command("up", "--name", "half")
	progress, err := up.StderrPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		h.t.Fatal(err)
	}
	if !firstLineWith(bufio.NewScanner(progress), stage) {
		h.t.Errorf("up ended before stage %q", stage)
	}
	if err := up.Process.Kill(); err != nil {
		h.t.Fatal(err)
	}
	_ = up.Wait()
}

// firstLineWith reads until a line contains the text, and tells whether one did.
func firstLineWith(scanner *bufio.Scanner, text string) bool {
	for scanner.Scan() {
		if strings.Contains(scanner.Text(), text) {
			return true
		}
	}
	return false
}

func TestAControlPlaneNeedsNoRoot(t *testing.T) {
	h := newHome(t)
	folder := nobodysFolder(t)
	h.state, h.binary = filepath.Join(folder, "state"), copied(t, h.binary, folder)
	t.Cleanup(h.removeAll)
	compare := h.machineBefore()

	up := h.command("up", "--name", "plain", "--control-plane")
	up.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	up.Dir = "/"
	if output, err := up.CombinedOutput(); err != nil {
		t.Fatalf("up: %v: %s", err, output)
	}
	h.mustBeHealthy("plain")
	h.kubectl("plain", "create", "configmap", "greeting", "--from-literal=hello=world")
	if complaint := h.fails("up", "--name", "plain"); !strings.Contains(complaint, "exists as a control-plane cluster") {
		t.Errorf("a node was added to a cluster without one: %s", complaint)
	}
	h.portTaken()
	h.run("down", "--name", "plain")
	h.nothingRuns()
	compare()
}

// portTaken stops the API server and listens in its place.
func (h home) portTaken() {
	h.t.Helper()
	address := strings.TrimPrefix(h.status("plain").APIServer, "https://")
	h.run("stop-component", "--name", "plain", "kube-apiserver")
	listener, err := net.Listen("tcp", address)
	if err != nil {
		h.t.Fatal(err)
	}
	complaint := h.fails("up", "--name", "plain", "--control-plane")
	if !strings.Contains(complaint, "is taken by another program") || strings.Contains(complaint, "\n") {
		h.t.Errorf("want one line about the port, got:\n%s", complaint)
	}
	listener.Close()
	h.run("up", "--name", "plain", "--control-plane")
	h.mustBeHealthy("plain")
}

const nobody = 65534

// copied puts the program where nobody can run it: it may lie in root's own folder.
func copied(t *testing.T, program, folder string) string {
	t.Helper()
	copy := filepath.Join(folder, filepath.Base(program))
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copy, content, 0o755); err != nil {
		t.Fatal(err)
	}
	return copy
}

// nobodysFolder can be reached and written by nobody, unlike a test's usual folder.
func nobodysFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "windlass-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWrongUseGetsOneClearLine(t *testing.T) {
	h := newHome(t)
	cases := map[string]struct {
		args []string
		says string
	}{
		"unknown verb":           {[]string{"upp"}, `unknown command "upp"`},
		"unknown flag":           {[]string{"up", "--nam", "x"}, "unknown flag"},
		"another cluster's name": {[]string{"status", "--name", "nobody"}, "no such cluster"},
		"impossible name":        {[]string{"up", "--name", "Not_A_Name"}, "cannot be a cluster's name"},
		"missing image":          {[]string{"up", "--cache", t.TempDir()}, "has no pause.tar"},
		"malformed Pod":          {[]string{"container-pid", "a"}, "is not NAMESPACE/POD"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			complaint := h.fails(c.args...)
			if !strings.Contains(complaint, c.says) || strings.Contains(complaint, "\n") {
				t.Errorf("want one line with %q, got:\n%s", c.says, complaint)
			}
		})
	}
}

func TestAMissingToolIsNamedWithItsPackage(t *testing.T) {
	h := newHome(t)
	command := h.command("up")
	command.Env = []string{"PATH=" + t.TempDir(), "HOME=" + t.TempDir()}
	output, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "apt-get install containerd") {
		t.Errorf("want the Debian package's name, got %v: %s", err, output)
	}
}

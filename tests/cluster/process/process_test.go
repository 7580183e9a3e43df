package process

import (
	"path/filepath"
	"testing"
	"time"
)

func startSleeper(t *testing.T, owner string, args ...string) Identity {
	t.Helper()
	identity, err := Start(Command{Args: args, Log: filepath.Join(t.TempDir(), "log"), Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = identity.Stop(0) })
	return identity
}

func TestStopEndsTheProcess(t *testing.T) {
	identity := startSleeper(t, t.TempDir(), "sleep", "1000")
	if !identity.Alive() {
		t.Fatal("a process that was just started is not alive")
	}
	if err := identity.Stop(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	if identity.Alive() {
		t.Error("the process is alive after Stop")
	}
}

func TestStopKillsWhatIgnoresTheRequest(t *testing.T) {
	identity := startSleeper(t, t.TempDir(), "sh", "-c", "trap '' TERM; while :; do sleep 1000; done")
	if err := identity.Stop(10 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if identity.Alive() {
		t.Error("the process is alive after Stop")
	}
}

func TestARecycledPidIsLeftAlone(t *testing.T) {
	running := startSleeper(t, t.TempDir(), "sleep", "1000")
	cases := map[string]Identity{
		"other start": {PID: running.PID, Start: running.Start + 1, Boot: running.Boot},
		"other boot":  {PID: running.PID, Start: running.Start, Boot: "another"},
	}
	for name, stranger := range cases {
		if stranger.Alive() {
			t.Errorf("%s: taken for the recorded process", name)
		}
		if err := stranger.Stop(0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !running.Alive() {
		t.Error("a process with a recycled pid was ended")
	}
}

func TestMarkedFindsTheClustersProcessesOnly(t *testing.T) {
	mine, other := t.TempDir(), t.TempDir()
	want := startSleeper(t, mine, "sleep", "1000")
	startSleeper(t, other, "sleep", "1000")
	found, err := Marked(mine)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0] != want {
		t.Errorf("found %v, want only %v", found, want)
	}
}

package leftovers

import (
	"slices"
	"testing"
)

func TestWhatWasNotThereBeforeIsLeft(t *testing.T) {
	before := Machine{"mount": {"/run/a/"}, "file": {"/etc/b"}}
	after := Machine{"mount": {"/run/a/", "/run/c/"}, "network interface": {"wl0"}}
	left := before.missing(after)
	slices.Sort(left)
	if want := []string{"mount /run/c/", "network interface wl0"}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}

func TestALookSeesThisMachine(t *testing.T) {
	found, err := Look(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(found["network interface"], "lo") {
		t.Error("the loopback is not seen")
	}
}

package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Marked lists the running processes that carry the marker of the cluster in dir. Containers do not carry it: their
// environment is their own.
func Marked(dir string) ([]Identity, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("failed to list processes: %w", err)
	}
	var found []Identity
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() || !carries(pid, Marker+"="+dir) {
			continue
		}
		// A process that ended between the two looks is not one to report.
		if identity, err := Identify(pid); err == nil && identity.Alive() {
			found = append(found, identity)
		}
	}
	return found, nil
}

// carries is false for processes that ended meanwhile and for those of other users, which cannot be ours.
func carries(pid int, variable string) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	for _, entry := range bytes.Split(raw, []byte{0}) {
		if string(entry) == variable {
			return true
		}
	}
	return false
}

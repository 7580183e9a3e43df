// Package process starts programs that outlive their starter and ends exactly those again.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Identity names one process for good: a pid may be given to another process, the three together are not.
type Identity struct {
	PID int `json:"pid"`
	// Start is the kernel's start time, in clock ticks since boot.
	Start uint64 `json:"start"`
	// Boot is the kernel's identifier of the boot that Start counts from.
	Boot string `json:"boot"`
}

// Boot is the kernel's identifier of the present boot.
var Boot = sync.OnceValue(func() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(raw))
})

// Identify names the process that has the pid now.
func Identify(pid int) (Identity, error) {
	fields, err := statFields(pid)
	if err != nil {
		return Identity{}, err
	}
	start, err := strconv.ParseUint(fields[startField], 10, 64)
	if err != nil {
		return Identity{}, fmt.Errorf("failed to read the start time of process %d: %w", pid, err)
	}
	return Identity{PID: pid, Start: start, Boot: Boot()}, nil
}

// Positions in /proc/PID/stat, counted after the closing bracket of the command's name (proc(5)).
const (
	stateField = 0
	startField = 19
)

func statFields(pid int) ([]string, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, fmt.Errorf("failed to look at process %d: %w", pid, err)
	}
	// The name may contain anything, brackets and spaces too; what follows the last bracket is regular.
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) <= startField {
		return nil, fmt.Errorf("failed to look at process %d: /proc/%d/stat is cut short", pid, pid)
	}
	return fields, nil
}

// Alive tells whether the process still runs; one that only waits to be reaped does not.
func (i Identity) Alive() bool {
	if i.PID <= 0 || i.Boot != Boot() {
		return false
	}
	fields, err := statFields(i.PID)
	if err != nil || fields[stateField] == "Z" || fields[stateField] == "X" {
		return false
	}
	return fields[startField] == strconv.FormatUint(i.Start, 10)
}

// Stop asks the process to end, and ends it when it has not done so after the grace time. It returns once the process
// is gone. Nothing happens to a process that merely has the same pid.
func (i Identity) Stop(grace time.Duration) error {
	fd, err := unix.PidfdOpen(i.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("failed to get hold of process %d: %w", i.PID, err)
	}
	defer unix.Close(fd)
	// The descriptor pins the process, so this look decides for the signals below as well.
	if !i.Alive() {
		return nil
	}
	if grace > 0 {
		if err := signal(fd, syscall.SIGTERM); err != nil {
			return fmt.Errorf("failed to ask process %d to end: %w", i.PID, err)
		}
		if ended(fd, grace) {
			return nil
		}
	}
	if err := signal(fd, syscall.SIGKILL); err != nil {
		return fmt.Errorf("failed to end process %d: %w", i.PID, err)
	}
	if !ended(fd, killTime) {
		return fmt.Errorf("process %d did not end %s after SIGKILL", i.PID, killTime)
	}
	return nil
}

// killTime is how long the kernel may take to end a process after SIGKILL.
const killTime = 20 * time.Second

func signal(pidfd int, signal syscall.Signal) error {
	err := unix.PidfdSendSignal(pidfd, signal, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// ended waits until the process of the descriptor has ended, at most for the given time.
func ended(pidfd int, limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for {
		left := max(time.Until(deadline), 0)
		count, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if count > 0 {
			return true
		}
		if left == 0 || (err != nil && !errors.Is(err, unix.EINTR)) {
			return false
		}
	}
}

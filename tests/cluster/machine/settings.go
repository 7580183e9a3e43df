package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"windlass.dev/cluster/state"
)

// wanted are the settings, below /proc/sys, that a node needs. All but the first are what a kubelet sets when it starts;
// they are set here so that somebody remembers what they were.
var wanted = map[string]string{
	"fs/inotify/max_user_instances": "8192",
	"vm/overcommit_memory":          "1",
	"vm/panic_on_oom":               "0",
	"kernel/panic":                  "10",
	"kernel/panic_on_oops":          "1",
	"kernel/keys/root_maxkeys":      "1000000",
	"kernel/keys/root_maxbytes":     "25000000",
}

func settingsFile() string { return filepath.Join(Dir, "settings.json") }

// tune changes the settings and remembers each old value before it does. It does nothing when that was done already.
func tune() error {
	if _, err := os.Stat(settingsFile()); err == nil {
		return nil
	}
	before := map[string]string{}
	for name, value := range wanted {
		old, err := readSetting(name)
		if err != nil {
			return err
		}
		if !satisfied(name, old, value) {
			before[name] = old
		}
	}
	raw, err := json.Marshal(before)
	if err != nil {
		return fmt.Errorf("failed to encode the machine's settings: %w", err)
	}
	if err := state.WriteFile(settingsFile(), raw, 0o644); err != nil {
		return err
	}
	for name := range before {
		if err := writeSetting(name, wanted[name]); err != nil {
			return err
		}
	}
	return nil
}

// satisfied is true for equal values, and for a limit that is high enough already.
func satisfied(name, now, value string) bool {
	if now == value {
		return true
	}
	if !strings.HasPrefix(name, "fs/inotify/") {
		return false
	}
	have, errHave := strconv.Atoi(now)
	need, errNeed := strconv.Atoi(value)
	return errHave == nil && errNeed == nil && have >= need
}

// restore writes the old values back, except over a value that somebody else set meanwhile.
func restore() error {
	raw, err := os.ReadFile(settingsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("failed to read the machine's old settings: %w", err)
	}
	var before map[string]string
	if err := json.Unmarshal(raw, &before); err != nil {
		return fmt.Errorf("failed to parse %s: %w", settingsFile(), err)
	}
	for name, value := range before {
		now, err := readSetting(name)
		if err != nil {
			return err
		}
		if now != wanted[name] {
			continue
		}
		if err := writeSetting(name, value); err != nil {
			return err
		}
	}
	return nil
}

func readSetting(name string) (string, error) {
	raw, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return "", fmt.Errorf("failed to read the kernel's setting %s: %w", name, err)
	}
	return strings.TrimSpace(string(raw)), nil
}

func writeSetting(name, value string) error {
	if err := os.WriteFile("/proc/sys/"+name, []byte(value), 0o644); err != nil {
		return fmt.Errorf("failed to change the kernel's setting %s to %s: %w", name, value, err)
	}
	return nil
}

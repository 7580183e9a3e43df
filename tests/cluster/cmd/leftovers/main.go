// Command leftovers tells what clusters have left on the machine. It prints what there is, and later, given that, what
// has been added since and stays.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"windlass.dev/cluster/leftovers"
)

func main() {
	state := flag.String("state", "/var/lib/windlass", "directory of the clusters' files")
	since := flag.String("since", "", "file with what an earlier call printed")
	flag.Parse()
	if err := run(*state, *since); err != nil {
		fmt.Fprintln(os.Stderr, "leftovers:", err)
		os.Exit(1)
	}
}

func run(state, since string) error {
	if since == "" {
		now, err := leftovers.Look(state)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(now)
	}
	before, err := read(since)
	if err != nil {
		return err
	}
	left, err := before.Left(state)
	if err != nil {
		return err
	}
	for _, line := range left {
		fmt.Println("left:", line)
	}
	if len(left) > 0 {
		return errors.New("the machine is not as it was")
	}
	return nil
}

func read(path string) (before leftovers.Machine, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("failed to read the earlier look: %w", err)
	}
	if err := json.Unmarshal(raw, &before); err != nil {
		return nil, fmt.Errorf("failed to parse %s: %w", path, err)
	}
	return before, nil
}

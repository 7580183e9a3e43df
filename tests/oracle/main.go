// Oracle prints what prometheus-operator makes of objects, for comparing with.
//
// It reads cases as JSON from standard input, one a line, and prints an answer a line:
//
//	{"objects": [...]}          the objects of one cluster, one Prometheus among them
//	{"configuration": "...", "rules": {"FILE": "..."}}   what to check as Prometheus loads it
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// question is one line of input: objects to make a configuration of, or a configuration to load.
type question struct {
	Objects       []json.RawMessage `json:"objects"`
	Configuration string            `json:"configuration"`
	Rules         map[string]string `json:"rules"`
}

// answer is one line of output. Of its fields only those are set that the question is about.
type answer struct {
	Configuration any               `json:"configuration,omitempty"`
	Rules         map[string]any    `json:"rules,omitempty"`
	Rejected      map[string]string `json:"rejected,omitempty"` // KIND/NAMESPACE/NAME and why
	Error         string            `json:"error,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if err := json.NewEncoder(os.Stdout).Encode(respond(lines.Bytes())); err != nil {
			fail(err)
		}
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "oracle:", err)
	os.Exit(1)
}

func respond(line []byte) answer {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: err.Error()}
	}
	if asked.Objects == nil {
		return load(asked.Configuration, asked.Rules)
	}
	world, err := readWorld(asked.Objects)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return world.answer()
}

package images

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// sharedLibraries lists the files that the dynamic loader would map for binary, the loader among them; none for a
// static program.
func sharedLibraries(ctx context.Context, binary string) ([]string, error) {
	var complaint bytes.Buffer
	command := exec.CommandContext(ctx, "ldd", binary)
	command.Stderr = &complaint
	output, err := command.Output()
	if err != nil && strings.Contains(complaint.String(), "not a dynamic executable") {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failed to list the libraries of %s: ldd: %w: %s", binary, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return parseLibraries(binary, string(output))
}

// parseLibraries reads ldd's lines: "NAME => PATH (ADDRESS)", "PATH (ADDRESS)" for the loader, "NAME (ADDRESS)" for
// what the kernel provides, and "statically linked".
func parseLibraries(binary, output string) ([]string, error) {
	var libraries []string
	for line := range strings.Lines(output) {
		name, found, resolved := strings.Cut(strings.TrimSpace(line), " => ")
		if !resolved {
			found = name
		}
		file, _, _ := strings.Cut(found, " (")
		switch {
		case strings.HasPrefix(file, "/"):
			libraries = append(libraries, file)
		case resolved:
			return nil, fmt.Errorf("failed to find library %s, which %s is linked to", name, binary)
		}
	}
	return libraries, nil
}

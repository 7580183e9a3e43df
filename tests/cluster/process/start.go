package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Marker is the environment variable by which all processes of a cluster are known, also those whose start was never
// recorded. Its value is the cluster's directory.
const Marker = "WINDLASS_CLUSTER"

// searchPath is set rather than inherited, so that a cluster does not depend on who started it.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Command is a program with its arguments and the file that takes what it prints.
type Command struct {
	Args []string
	Log  string
	// Owner is the directory of the cluster that the process belongs to.
	Owner string
}

// Environment is what a cluster's processes see: nothing of the starter's own, so no proxy and no secret of theirs.
func Environment(owner string) []string { return []string{searchPath, Marker + "=" + owner} }

// Start runs the command in a session of its own, so that it outlives this program and its terminal.
func Start(command Command) (Identity, error) {
	log, err := openLog(command.Log)
	if err != nil {
		return Identity{}, err
	}
	defer log.Close()
	cmd := exec.Command(command.Args[0], command.Args[1:]...)
	cmd.Env = Environment(command.Owner)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Identity{}, fmt.Errorf("failed to start %s: %w", command.Args[0], err)
	}
	// Reaps the process if it ends while this program still runs.
	go cmd.Wait()
	return Identify(cmd.Process.Pid)
}

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("failed to make the folder of %s: %w", path, err)
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("failed to open the log: %w", err)
	}
	return log, nil
}

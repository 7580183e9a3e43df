package images

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// recipe is everything that decides what a root file system contains, as far as this side can tell.
type recipe struct {
	suite    string
	packages []string
	hooks    []string // shell, with the root file system as $1
}

// applicationRecipe has one file system for all programs: one layer to make, to import and to keep in memory.
var applicationRecipe = recipe{
	suite: "sid", // the only suite that has mysql-server-core
	packages: []string{
		"redis-server", "mysql-server-core", "mysql-client-core",
		"prometheus", "prometheus-alertmanager", "prometheus-mysqld-exporter", "prometheus-redis-exporter",
		"busybox", "ca-certificates", "curl",
	},
	hooks: []string{
		// The names and places that the official images have.
		`ln -s prometheus-alertmanager "$1/usr/bin/alertmanager"`,
		`ln -s prometheus-mysqld-exporter "$1/usr/bin/mysqld_exporter"`,
		`ln -s prometheus-redis-exporter "$1/usr/bin/redis_exporter"`,
		`ln -s usr/bin/redis_exporter "$1/redis_exporter"`,
		`install -d "$1/etc/alertmanager" "$1/etc/mysql/conf.d"`,
		`echo '!includedir /etc/mysql/conf.d/' > "$1/etc/mysql/my.cnf"`,
		`ln -s ../prometheus/alertmanager.yml "$1/etc/alertmanager/alertmanager.yml"`,
		`chroot "$1" useradd --system --uid 999 --user-group --no-create-home --home-dir /var/lib/mysql mysql`,
		// Whoever a Pod runs as may write where its program does; volumes are mounted over most of them.
		`install -d -m 1777 "$1/data" "$1/prometheus" "$1/alertmanager" "$1/run/mysqld"`,
		`install -d -m 0777 "$1/var/lib/mysql" "$1/var/lib/mysql-files"`,
	},
}

// key changes whenever the recipe does, or the names that its result is given.
func (recipe recipe) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %#v", recipe.arguments(""), catalogue))
	return hex.EncodeToString(sum[:6])
}

// arguments name no mirror: the client's default serves. A suite's index may be older than its own date allows, and
// a machine's clock may be off; neither matters for a test image.
func (recipe recipe) arguments(out string) []string {
	arguments := []string{
		"--variant=essential", "--format=tar",
		"--skip=cleanup/run", // what hooks make there stays
		"--include=" + strings.Join(recipe.packages, ","),
		`--aptopt=Acquire::Check-Valid-Until "false"`,
		`--aptopt=Acquire::Check-Date "false"`,
		"--dpkgopt=path-exclude=/usr/share/man/*",
		"--dpkgopt=path-exclude=/usr/share/locale/*",
	}
	for _, hook := range recipe.hooks {
		arguments = append(arguments, "--customize-hook="+hook)
	}
	return append(arguments, recipe.suite, out)
}

// bootstrap makes the root file system's tar at out with mmdebstrap.
func (recipe recipe) bootstrap(ctx context.Context, out string) error {
	command := exec.CommandContext(ctx, "mmdebstrap", recipe.arguments(out)...)
	// Interrupted politely it removes its own temporary folder and mounts.
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = time.Minute
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	err := command.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("failed to find mmdebstrap: install it with `apt-get install mmdebstrap`")
	}
	if err != nil {
		os.Remove(out)
		return fmt.Errorf("failed to make a root file system of Debian %s: mmdebstrap: %w\n%s",
			recipe.suite, err, lastLines(log.String(), 15))
	}
	return nil
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-count):], "\n  ")
}

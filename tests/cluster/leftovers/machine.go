// Package leftovers tells what clusters have left on the machine, by looking at it before and after them.
package leftovers

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Machine is what a cluster could leave behind on the machine: each aspect is a set of lines.
type Machine map[string][]string

// Look leaves out what belongs to clusters that run meanwhile, unless they are of the state directory own.
func Look(own string) (Machine, error) {
	found := Machine{}
	others := otherClusters(own)
	aspects := map[string]func() ([]string, error){
		"mount":             func() ([]string, error) { return mounts(own) },
		"network interface": interfaces,
		"network namespace": networkNamespaces,
		"packet rule":       packetRules,
		"kernel setting":    settings,
		"control group":     controlGroups,
		"file":              files,
	}
	for aspect, list := range aspects {
		lines, err := list()
		if err != nil {
			return nil, fmt.Errorf("failed to look at each %s: %w", aspect, err)
		}
		found[aspect] = slices.DeleteFunc(lines, func(line string) bool { return belongsTo(line, others) })
	}
	return found, nil
}

// settling is how long the kernel may take to take a network namespace apart after its end.
const settling = 30 * time.Second

// Left looks again and returns what was not there before and stays: each is an aspect and a line.
func (before Machine) Left(own string) ([]string, error) {
	for deadline := time.Now().Add(settling); ; time.Sleep(200 * time.Millisecond) {
		after, err := Look(own)
		if err != nil {
			return nil, err
		}
		left := before.missing(after)
		if len(left) == 0 || time.Now().After(deadline) {
			return left, nil
		}
	}
}

// missing are the lines of after that are not in before.
func (before Machine) missing(after Machine) []string {
	var left []string
	for aspect, lines := range after {
		for _, line := range lines {
			if !slices.Contains(before[aspect], line) {
				left = append(left, aspect+" "+line)
			}
		}
	}
	return left
}

// otherClusters are the words by which things of clusters that somebody else runs are known.
func otherClusters(own string) []string {
	claims, _ := os.ReadDir("/run/windlass/claims")
	var words []string
	for _, claim := range claims {
		index := claim.Name()
		holder, _ := os.Readlink("/run/windlass/claims/" + index)
		if strings.HasPrefix(holder, own+"/") {
			continue
		}
		words = append(words, "/run/windlass/"+index+"/", "wl"+index+" ", "/windlass-"+index+"/", "/run/windlass/claims/"+index+" ")
	}
	return words
}

func belongsTo(line string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line+" ", word) })
}

// mounts are those in the places that clusters use: others come and go with what else runs on the machine.
func mounts(own string) ([]string, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var points []string
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		point := strings.Fields(line)[4] + "/"
		if slices.ContainsFunc(append(places, "/sys", own), func(place string) bool { return strings.HasPrefix(point, place+"/") }) {
			points = append(points, point)
		}
	}
	return points, nil
}

func interfaces() ([]string, error) {
	return names("/sys/class/net")
}

func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found, nil
}

// networkNamespaces are those that a process is in, without those in which only other clusters' containers are.
func networkNamespaces() ([]string, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, path := range paths {
		namespace, err := os.Readlink(path)
		group, errGroup := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(path)), "cgroup"))
		if err != nil || errGroup != nil || strings.Contains(string(group), ":/windlass-") || ofOtherCluster(path) {
			continue
		}
		if !slices.Contains(found, namespace) {
			found = append(found, namespace)
		}
	}
	return found, nil
}

func ofOtherCluster(path string) bool {
	environment, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(path)), "environ"))
	return err != nil || strings.Contains(string(environment), "WINDLASS_CLUSTER=")
}

func packetRules() ([]string, error) {
	output, err := exec.Command("nft", "list", "ruleset").Output()
	return strings.Split(strings.TrimSpace(string(output)), "\n"), err
}

// settings are those that nodes change; with another cluster running they stay as they were found.
func settings() ([]string, error) {
	var found []string
	for _, dir := range []string{"fs/inotify", "vm", "kernel", "kernel/keys", "net/ipv4", "net/netfilter", "net/bridge"} {
		entries, err := os.ReadDir("/proc/sys/" + dir)
		if err != nil {
			continue // a kernel without that part
		}
		for _, entry := range entries {
			name := filepath.Join(dir, entry.Name())
			value, err := os.ReadFile("/proc/sys/" + name)
			if err == nil && !changesByItself(name) {
				found = append(found, fmt.Sprintf("%s = %q", name, value))
			}
		}
	}
	return found, nil
}

func changesByItself(name string) bool {
	for _, part := range []string{"random", "ns_last_pid", "nf_conntrack_count", "pty", "stat_refresh", "boot_id"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func controlGroups() ([]string, error) {
	var found []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // removed while it was looked at
		}
		if entry.IsDir() {
			found = append(found, path+"/")
		}
		return nil
	})
	return found, err
}

// places are where a node's programs are known to write and mount. Folders of the cache and of other clusters are not
// looked into.
var places = []string{"/etc", "/opt", "/run", "/var/lib", "/var/log", "/usr/libexec", ".kube"}

func files() ([]string, error) {
	var found []string
	for _, place := range places {
		err := filepath.WalkDir(place, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil // not there
			}
			if path == "/var/lib/windlass" || path == "/var/lib/apt" || path == "/var/lib/dpkg" {
				return fs.SkipDir
			}
			found = append(found, path)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// ProcessesOf lists the processes that carry the state directory in their arguments or environment.
func ProcessesOf(state string) ([]string, error) {
	paths, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, path := range paths {
		if filepath.Base(path) == fmt.Sprint(os.Getpid()) {
			continue
		}
		arguments, _ := os.ReadFile(path + "/cmdline")
		environment, _ := os.ReadFile(path + "/environ")
		if strings.Contains(string(arguments)+string(environment), state) {
			found = append(found, filepath.Base(path)+": "+strings.ReplaceAll(string(arguments), "\x00", " "))
		}
	}
	return found, nil
}

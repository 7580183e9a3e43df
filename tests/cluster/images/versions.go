package images

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"strings"
)

const dpkgStatus = "var/lib/dpkg/status"

// packageVersions reads the upstream version of each Debian package inside the root file system's tar.
func packageVersions(rootfs string) (map[string]string, error) {
	file, err := os.Open(rootfs)
	if err != nil {
		return nil, fmt.Errorf("failed to read package versions: %w", err)
	}
	defer file.Close()
	archive := tar.NewReader(file)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("failed to read package versions: %s holds no %s", rootfs, dpkgStatus)
		}
		if err != nil {
			return nil, fmt.Errorf("failed to read package versions from %s: %w", rootfs, err)
		}
		if path.Clean(header.Name) == dpkgStatus {
			return parseStatus(archive)
		}
	}
}

// parseStatus reads dpkg's paragraphs, of which each has one Package line before its Version line.
func parseStatus(status io.Reader) (map[string]string, error) {
	versions := map[string]string{}
	name := ""
	lines := bufio.NewScanner(status)
	lines.Buffer(nil, 1<<20) // a Depends line may be long
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "Package":
			name = value
		case "Version":
			versions[name] = upstreamVersion(value)
		}
	}
	return versions, lines.Err()
}

var debianParts = regexp.MustCompile(`^(?:\d+:)?([^-+~]+)`)

// upstreamVersion drops what Debian adds to a version: epoch, revision and repacking marks ("5:8.0.6-3" is 8.0.6).
func upstreamVersion(debian string) string {
	if parts := debianParts.FindStringSubmatch(debian); parts != nil {
		return parts[1]
	}
	return debian
}

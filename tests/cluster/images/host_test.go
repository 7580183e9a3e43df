package images

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestLibrariesOfADynamicProgram(t *testing.T) {
	output := "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n" +
		"\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n"
	libraries, err := parseLibraries("/bin/true", output)
	want := []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"}
	if err != nil || !slices.Equal(libraries, want) {
		t.Errorf("wanted %v, got %v, %v", want, libraries, err)
	}
}

func TestMissingLibraryIsNamed(t *testing.T) {
	_, err := parseLibraries("/bin/true", "\tlibodd.so.1 => not found\n")
	if err == nil || !strings.Contains(err.Error(), "libodd.so.1") {
		t.Errorf("wanted the library's name, got %v", err)
	}
}

func TestStaticProgramHasNoLibraries(t *testing.T) {
	libraries, err := parseLibraries("/bin/true", "\tstatically linked\n")
	if err != nil || len(libraries) != 0 {
		t.Errorf("wanted none, got %v, %v", libraries, err)
	}
}

// TestHostImageRunsInItsOwnRoot starts a dynamic program with nothing but the layer's files. It needs to be root.
func TestHostImageRunsInItsOwnRoot(t *testing.T) {
	folder := t.TempDir()
	archive := filepath.Join(folder, "true.tar")
	extra := filepath.Join(folder, "extra")
	if err := os.WriteFile(extra, []byte("extra"), 0o600); err != nil {
		t.Fatal(err)
	}
	image := Host{Reference: "example.com/true:1", Binary: "/bin/true", Files: map[string]string{extra: "/plugins/extra"}}
	if err := WriteHost(context.Background(), image, archive); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	files := contents(t, file)
	entry := decode[[]manifestEntry](t, files["manifest.json"])[0]
	config := decode[ocispec.Image](t, files[entry.Config]).Config
	if config.User != NonRoot || config.Entrypoint[0] != "/usr/local/bin/true" {
		t.Errorf("wanted /usr/local/bin/true as %s, got %v as %s", NonRoot, config.Entrypoint, config.User)
	}
	root := unpack(t, files[layerName])
	if output, err := exec.Command("chroot", "--userspec="+NonRoot, root, config.Entrypoint[0]).CombinedOutput(); err != nil {
		t.Errorf("the program does not run in its image: %v: %s", err, output)
	}
	if text, _ := os.ReadFile(filepath.Join(root, "plugins/extra")); string(text) != "extra" {
		t.Errorf("the further file holds %q", text)
	}
}

func unpack(t *testing.T, layer []byte) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("tar", "-x", "-C", root)
	command.Stdin = strings.NewReader(string(layer))
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return root
}

package images

import (
	"os"
	"strings"
	"testing"
)

func suite() map[string]string {
	versions := map[string]string{}
	for _, product := range catalogue {
		versions[product.debian] = "9.9.9"
	}
	return versions
}

func TestEachTagIsAnImageOfItsOwn(t *testing.T) {
	images, err := applicationImages(suite())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, image := range images {
		for _, reference := range image.References {
			if seen[reference] {
				t.Errorf("%s is given twice", reference)
			}
			seen[reference] = true
		}
		if image.Config.Labels["windlass.dev/runs"] == "" {
			t.Errorf("%v does not say what it really runs", image.References)
		}
	}
	for _, reference := range []string{
		"docker.io/library/redis:7.2", "docker.io/library/redis:9.9.9", "docker.io/library/mysql:8.0.32",
		"quay.io/prometheus/prometheus:v2.55.0", "quay.io/prometheus/prometheus:v9.9.9",
	} {
		if !seen[reference] {
			t.Errorf("%s is missing", reference)
		}
	}
}

func TestMissingPackageIsNamed(t *testing.T) {
	versions := suite()
	delete(versions, "mysql-server-core")
	if _, err := applicationImages(versions); err == nil || !strings.Contains(err.Error(), "mysql-server-core") {
		t.Errorf("wanted the missing package's name, got %v", err)
	}
}

// TestReadmeDeclaresEveryAlias keeps the table "declared against really run" whole.
func TestReadmeDeclaresEveryAlias(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, product := range catalogue {
		row := "| `" + product.repository + "` | " + strings.Join(product.aliases, ", ") + " | "
		if !strings.Contains(string(readme), row) {
			t.Errorf("the table has no row that begins with %s", row)
		}
	}
}

func TestUpstreamVersion(t *testing.T) {
	for debian, upstream := range map[string]string{
		"5:8.0.6-3": "8.0.6", "9.7.4-2": "9.7.4", "3.5.3+ds1-6": "3.5.3", "0.33.1-5": "0.33.1", "1.2~rc1-1": "1.2",
	} {
		if got := upstreamVersion(debian); got != upstream {
			t.Errorf("wanted %s of %s, got %s", upstream, debian, got)
		}
	}
}

func TestVersionsOfAStatusFile(t *testing.T) {
	status := "Package: redis-server\nStatus: install ok installed\nVersion: 5:8.0.6-3\nDescription: fast\n Version: 1\n\n" +
		"Package: bash\nVersion: 5.3-4\n"
	versions, err := parseStatus(strings.NewReader(status))
	if err != nil || len(versions) != 2 || versions["redis-server"] != "8.0.6" || versions["bash"] != "5.3" {
		t.Errorf("got %v, %v", versions, err)
	}
}

package images

import (
	"fmt"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// product is one program of the application image, under the names that people's manifests give it.
type product struct {
	debian     string // the package whose version is the one that really runs
	repository string
	prefix     string   // what stands before a version in a tag
	aliases    []string // tags that samples name; the suite's own version runs under them
	config     ocispec.ImageConfig
}

var searchPath = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

// catalogue starts each product as its official image does, where a manifest leaves the command out.
var catalogue = []product{
	{
		debian:     "redis-server",
		repository: "docker.io/library/redis",
		aliases:    []string{"7.0", "7.2", "8.0"},
		config:     ocispec.ImageConfig{Env: searchPath, WorkingDir: "/data", Cmd: []string{"redis-server"}},
	},
	{
		debian:     "mysql-server-core",
		repository: "docker.io/library/mysql",
		aliases:    []string{"8.0", "8.0.32", "8.4", "9.7"},
		config:     ocispec.ImageConfig{Env: searchPath, Cmd: []string{"mysqld"}},
	},
	{
		debian:     "prometheus",
		repository: "quay.io/prometheus/prometheus",
		prefix:     "v",
		aliases:    []string{"v2.55.0", "v3.5.0"},
		config: ocispec.ImageConfig{
			Env:        searchPath,
			User:       "65534",
			WorkingDir: "/prometheus",
			Entrypoint: []string{"/bin/prometheus"},
			Cmd:        []string{"--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"},
		},
	},
	{
		debian:     "prometheus-alertmanager",
		repository: "quay.io/prometheus/alertmanager",
		prefix:     "v",
		aliases:    []string{"v0.27.0", "v0.28.0"},
		config: ocispec.ImageConfig{
			Env:        searchPath,
			User:       "65534",
			WorkingDir: "/alertmanager",
			Entrypoint: []string{"/bin/alertmanager"},
			Cmd:        []string{"--config.file=/etc/alertmanager/alertmanager.yml", "--storage.path=/alertmanager"},
		},
	},
	{
		debian:     "prometheus-mysqld-exporter",
		repository: "quay.io/prometheus/mysqld-exporter",
		prefix:     "v",
		aliases:    []string{"v0.15.1"},
		config:     ocispec.ImageConfig{Env: searchPath, User: "65534", Entrypoint: []string{"/bin/mysqld_exporter"}},
	},
	{
		debian:     "prometheus-redis-exporter",
		repository: "docker.io/oliver006/redis_exporter",
		prefix:     "v",
		aliases:    []string{"v1.66.0"},
		config:     ocispec.ImageConfig{Env: searchPath, User: "59000:59000", Entrypoint: []string{"/redis_exporter"}},
	},
	{
		debian:     "busybox",
		repository: "docker.io/library/busybox",
		aliases:    []string{"1.37"},
		config:     ocispec.ImageConfig{Env: searchPath, Cmd: []string{"sh"}},
	},
	{
		debian:     "bash",
		repository: "windlass.dev/test-tools",
		aliases:    []string{"1"},
		config:     ocispec.ImageConfig{Env: searchPath, Cmd: []string{"sleep", "infinity"}},
	},
}

// applicationImages gives each tag an image of its own, so that a kubelet tells "7.0" from "7.2" as it does with the
// official images, though both run the same program.
func applicationImages(versions map[string]string) ([]Image, error) {
	var images []Image
	for _, product := range catalogue {
		version, found := versions[product.debian]
		if !found {
			return nil, fmt.Errorf("failed to find package %s in the root file system", product.debian)
		}
		for _, tag := range product.tags(version) {
			images = append(images, product.image(tag, version))
		}
	}
	return images, nil
}

// tags are the aliases and, last, the version that really runs.
func (product product) tags(version string) []string {
	tags := slices.Clone(product.aliases)
	if own := product.prefix + version; product.debian != "bash" && !slices.Contains(tags, own) {
		tags = append(tags, own)
	}
	return tags
}

func (product product) image(tag, version string) Image {
	config := product.config
	config.Labels = map[string]string{
		"windlass.dev/declared": tag,
		"windlass.dev/runs":     strings.Join([]string{product.debian, version}, " "),
	}
	return Image{References: []string{product.repository + ":" + tag}, Config: config}
}

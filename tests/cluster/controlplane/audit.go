package controlplane

import (
	"fmt"
	"path/filepath"
	"strconv"

	"os"

	"windlass.dev/cluster/state"
)

const auditPolicyFile = "audit-policy.yaml"

// auditPolicy records who asked for what, once a request, without its content. Health checks and API discovery are
// left out: they are no access to an object.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  nonResourceURLs: ["*"]
- level: Metadata
`

// WriteConfig writes the files that the components' flags name.
func WriteConfig(cluster *state.Cluster) error {
	if err := os.MkdirAll(filepath.Dir(cluster.AuditLog()), 0o755); err != nil {
		return fmt.Errorf("failed to make the audit log's folder: %w", err)
	}
	return state.WriteFile(cluster.Config(auditPolicyFile), []byte(auditPolicy), 0o644)
}

func port(cluster *state.Cluster) string { return strconv.Itoa(int(cluster.Addresses.API.Port())) }

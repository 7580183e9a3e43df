package state

import "path/filepath"

func (c *Cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.Dir}, parts...)...)
}

func (c *Cluster) recordFile() string { return c.path("cluster.json") }

// Kubeconfig is the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.path("kubeconfig") }

// KubeconfigOf is the kubeconfig of a component.
func (c *Cluster) KubeconfigOf(component string) string {
	return c.path("kubeconfigs", component)
}

// Certificates is the folder of all keys and certificates.
func (c *Cluster) Certificates() string { return c.path("certificates") }

// Certificate and Key are the files of one certificate, named as in package certs.
func (c *Cluster) Certificate(name string) string { return c.path("certificates", name+".crt") }

// Key is the private key that belongs to Certificate(name).
func (c *Cluster) Key(name string) string { return c.path("certificates", name+".key") }

// Config is a component's configuration file.
func (c *Cluster) Config(name string) string { return c.path("config", name) }

// Log is the file that takes what a component prints.
func (c *Cluster) Log(component string) string { return c.path("logs", component+".log") }

// AuditLog is where the API server writes who asked for what.
func (c *Cluster) AuditLog() string { return c.path("audit", "audit.log") }

// ProcessFile records the running process of a component.
func (c *Cluster) ProcessFile(component string) string {
	return c.path("processes", component+".json")
}

// Data is a component's own folder for what it keeps.
func (c *Cluster) Data(component string) string { return c.path("data", component) }

// Volumes holds the mounts that the volume provisioner makes.
func (c *Cluster) Volumes() string { return c.path("volumes") }

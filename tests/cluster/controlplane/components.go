// Package controlplane says how etcd, the API server, the controller manager and the scheduler are run.
package controlplane

import (
	"time"

	"windlass.dev/cluster/certs"
	"windlass.dev/cluster/process"
	"windlass.dev/cluster/state"
)

// Names of the components, which are also those of the programs.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// Store are etcd and the API server. Binary is the program that contains them. The others need to find the API server
// ready: they end when it does not yet know what they may do.
func Store(cluster *state.Cluster, binary string) []process.Component {
	return []process.Component{
		{Name: Etcd, Args: etcd(cluster, binary), Grace: 10 * time.Second},
		{Name: APIServer, Args: apiServer(cluster, binary), Grace: 5 * time.Second, Ready: APIReady(cluster)},
	}
}

// Controllers are the components that act on what the API server holds.
func Controllers(cluster *state.Cluster, binary string) []process.Component {
	return []process.Component{
		{Name: ControllerManager, Args: controllerManager(cluster, binary), Grace: 5 * time.Second,
			Ready: podsAdmitted(cluster)},
		{Name: Scheduler, Args: scheduler(cluster, binary), Grace: 5 * time.Second},
	}
}

// etcd does not wait for the disk: what a test cluster holds need not survive a power cut.
func etcd(cluster *state.Cluster, binary string) []string {
	client := "http://" + cluster.Addresses.Etcd.String()
	return []string{binary, Etcd,
		"--name=default",
		"--data-dir=" + cluster.Data(Etcd),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=http://127.0.0.1:0",
		"--unsafe-no-fsync",
		"--quota-backend-bytes=4294967296",
		"--log-level=warn",
	}
}

func apiServer(cluster *state.Cluster, binary string) []string {
	args := []string{binary, APIServer,
		"--etcd-servers=http://" + cluster.Addresses.Etcd.String(),
		"--secure-port=" + port(cluster),
		"--service-cluster-ip-range=" + cluster.Addresses.Services.String(),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged",
		"--client-ca-file=" + cluster.Certificate(certs.CA),
		"--tls-cert-file=" + cluster.Certificate(certs.APIServer),
		"--tls-private-key-file=" + cluster.Key(certs.APIServer),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + cluster.Certificates() + "/" + certs.ServiceAccount + ".pub",
		"--service-account-signing-key-file=" + cluster.Key(certs.ServiceAccount),
		"--requestheader-client-ca-file=" + cluster.Certificate(certs.FrontProxyCA),
		"--requestheader-allowed-names=" + certs.FrontProxyClient,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + cluster.Certificate(certs.FrontProxyClient),
		"--proxy-client-key-file=" + cluster.Key(certs.FrontProxyClient),
		"--audit-policy-file=" + cluster.Config(auditPolicyFile),
		"--audit-log-path=" + cluster.AuditLog(),
		"--audit-log-maxsize=100",
		"--audit-log-maxbackup=3",
		"--profiling=false",
	}
	return append(args, apiServerOf(cluster)...)
}

// apiServerOf are the flags that depend on whether there is a node.
func apiServerOf(cluster *state.Cluster) []string {
	address := cluster.Addresses.API.Addr().String()
	if cluster.Kind == state.ControlPlane {
		return []string{
			"--bind-address=" + address,
			"--advertise-address=" + address,
			// A Service may not have a loopback address behind it.
			"--endpoint-reconciler-type=none",
			// Nobody makes the service accounts that this plugin asks of each Pod.
			"--disable-admission-plugins=ServiceAccount",
		}
	}
	return []string{
		"--bind-address=0.0.0.0",
		"--advertise-address=" + address,
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority=" + cluster.Certificate(certs.CA),
		"--kubelet-client-certificate=" + cluster.Certificate(certs.KubeletClient),
		"--kubelet-client-key=" + cluster.Key(certs.KubeletClient),
	}
}

func controllerManager(cluster *state.Cluster, binary string) []string {
	kubeconfig := cluster.KubeconfigOf(ControllerManager)
	return []string{binary, ControllerManager,
		"--bind-address=127.0.0.1",
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--cluster-name=" + cluster.Name,
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + cluster.Key(certs.ServiceAccount),
		"--root-ca-file=" + cluster.Certificate(certs.CA),
		"--cluster-signing-cert-file=" + cluster.Certificate(certs.CA),
		"--cluster-signing-key-file=" + cluster.Key(certs.CA),
		"--profiling=false",
	}
}

func scheduler(cluster *state.Cluster, binary string) []string {
	kubeconfig := cluster.KubeconfigOf(Scheduler)
	return []string{binary, Scheduler,
		"--bind-address=127.0.0.1",
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--profiling=false",
	}
}

// Package certs makes the certificates and keys of a cluster. They are good for one year and never renewed: a cluster
// of this kind does not live that long.
package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/netip"
	"time"
)

const lifetime = 365 * 24 * time.Hour

// Pair is a certificate and its key, both in PEM.
type Pair struct{ Certificate, Key []byte }

// Authority signs certificates.
type Authority struct {
	Pair
	certificate *x509.Certificate
	key         crypto.Signer
}

// Subject says for whom a certificate is: the API server reads the user from Name and the groups from Groups.
type Subject struct {
	Name   string
	Groups []string
	// Names and Addresses make it a server's certificate; without them it is a client's.
	Names     []string
	Addresses []netip.Addr
}

// NewAuthority makes a self-signed authority.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("failed to make the key of authority %s: %w", name, err)
	}
	template := template(pkix.Name{CommonName: name})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage |= x509.KeyUsageCertSign
	pair, err := sign(template, template, key, key)
	if err != nil {
		return nil, fmt.Errorf("failed to make authority %s: %w", name, err)
	}
	return &Authority{pair, template, key}, nil
}

// Issue signs a certificate with a new key for the subject.
func (a *Authority) Issue(subject Subject) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("failed to make the key of %s: %w", subject.Name, err)
	}
	template := template(pkix.Name{CommonName: subject.Name, Organization: subject.Groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{subject.usage()}
	template.DNSNames = subject.Names
	for _, address := range subject.Addresses {
		template.IPAddresses = append(template.IPAddresses, address.AsSlice())
	}
	pair, err := sign(template, a.certificate, key, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("failed to issue the certificate of %s: %w", subject.Name, err)
	}
	return pair, nil
}

func (s Subject) usage() x509.ExtKeyUsage {
	if len(s.Names)+len(s.Addresses) > 0 {
		return x509.ExtKeyUsageServerAuth
	}
	return x509.ExtKeyUsageClientAuth
}

func template(name pkix.Name) *x509.Certificate {
	// An hour back: clocks of containers and of this program need not agree to the second.
	start := time.Now().Add(-time.Hour)
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      name,
		NotBefore:    start,
		NotAfter:     start.Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
}

func sign(template, parent *x509.Certificate, key, parentKey crypto.Signer) (Pair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return Pair{}, err
	}
	encodedKey, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), encodedKey}, nil
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

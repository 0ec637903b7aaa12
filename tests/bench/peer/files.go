package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	specs "tags.cncf.io/container-device-interface/specs-go"
)

type checkpoint struct {
	Version  string                      `json:"version"`
	Prepared map[types.UID]preparedClaim `json:"prepared"`
}

func readCheckpoint(path string) (map[types.UID]preparedClaim, error) {
	read := checkpoint{Prepared: map[types.UID]preparedClaim{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return read.Prepared, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return read.Prepared, nil
}

func writeCheckpoint(path string, prepared map[types.UID]preparedClaim) error {
	data, err := json.Marshal(checkpoint{Version: "v1", Prepared: prepared})
	if err != nil {
		return err
	}
	return replaceFile(path, data, true)
}

// writeCDI tells the container runtime what containers of the claim get. The folder is in memory, so a sync has no purpose.
func (d *driver) writeCDI(uid types.UID, claim preparedClaim) error {
	spec := specs.Spec{Version: "0.5.0", Kind: d.cdiKind()}
	for _, device := range claim.Devices {
		variable := strings.ToUpper(strings.ReplaceAll(device.Device, "-", "_"))
		spec.Devices = append(spec.Devices, specs.Device{
			Name: string(uid) + "-" + device.Device,
			ContainerEdits: specs.ContainerEdits{
				Env: []string{"PEER_CLAIM=" + string(uid), "PEER_" + variable + "=" + device.Device},
				DeviceNodes: []*specs.DeviceNode{
					{Path: "/dev/peer/" + device.Device, HostPath: "/dev/null", Permissions: "rw"}},
			},
		})
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	return replaceFile(d.cdiFile(uid), data, false)
}

// replaceFile writes a whole file under another name first, so that readers see the old or the new one. The folder is
// not synced: the journal keeps the order, and a lost rename after a power failure is a prepare that is repeated.
func replaceFile(path string, data []byte, sync bool) error {
	temporary := path + ".tmp"
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil && sync {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

func (d *driver) writeCheckpoint() error {
	data, err := json.Marshal(checkpoint{Version: "v1", Prepared: d.prepared})
	if err != nil {
		return err
	}
	if err := replaceFile(d.checkpointFile, data, true); err != nil || !d.syncFolder {
		return err
	}
	folder, err := os.Open(filepath.Dir(d.checkpointFile))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// writeCDI writes the edits of the claim's containers for the runtime. The folder is in memory, so a sync has no
// purpose.
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

// replaceFile writes a whole file under another name first, so that readers see the old or the new one.
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

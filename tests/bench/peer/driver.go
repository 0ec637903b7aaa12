package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

// driver prepares claims for devices that do not exist.
type driver struct {
	settings
	checkpointFile string

	mu       sync.Mutex
	prepared map[types.UID]preparedClaim
	holders  map[string]types.UID // by device
}

// preparedClaim is a claim in the checkpoint, so that a repeated prepare and an unprepare need no API server.
type preparedClaim struct {
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	Devices   []preparedDevice `json:"devices"`
}

type preparedDevice struct {
	Request string `json:"request"`
	Pool    string `json:"pool"`
	Device  string `json:"device"`
	CDI     string `json:"cdi"`
}

func deviceName(index int) string { return fmt.Sprintf("gpu-%d", index) }

func newDriver(s settings, folder string) (*driver, error) {
	for _, needed := range []string{folder, s.cdi} {
		if err := os.MkdirAll(needed, 0o755); err != nil {
			return nil, err
		}
	}
	d := &driver{settings: s, checkpointFile: filepath.Join(folder, "checkpoint.json"), holders: map[string]types.UID{}}
	for i := range s.devices {
		d.holders[deviceName(i)] = ""
	}
	var err error
	if d.prepared, err = readCheckpoint(d.checkpointFile); err != nil {
		return nil, err
	}
	for uid, claim := range d.prepared {
		for _, device := range claim.Devices {
			d.holders[device.Device] = uid
		}
		// /var/run is empty after a reboot.
		if err := d.writeCDI(uid, claim); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// PrepareResourceClaims gets claims that the helper has read from the API server.
func (d *driver) PrepareResourceClaims(_ context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := make(map[types.UID]kubeletplugin.PrepareResult, len(claims))
	for _, claim := range claims {
		devices, err := d.prepare(claim)
		results[claim.UID] = kubeletplugin.PrepareResult{Devices: devices, Err: err}
	}
	return results, nil
}

func (d *driver) prepare(claim *resourceapi.ResourceClaim) ([]kubeletplugin.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, found := d.prepared[claim.UID]; found {
		return known.response(), nil
	}
	planned, err := d.plan(claim)
	if err != nil {
		return nil, err
	}
	if err := d.writeCDI(claim.UID, planned); err != nil {
		return nil, err
	}
	d.prepared[claim.UID] = planned
	if err := d.writeCheckpoint(); err != nil {
		delete(d.prepared, claim.UID)
		return nil, errors.Join(err, os.Remove(d.cdiFile(claim.UID)))
	}
	for _, device := range planned.Devices {
		d.holders[device.Device] = claim.UID
	}
	return planned.response(), nil
}

// plan checks the allocation. Called with mu locked.
func (d *driver) plan(claim *resourceapi.ResourceClaim) (preparedClaim, error) {
	planned := preparedClaim{Namespace: claim.Namespace, Name: claim.Name}
	for _, config := range claim.Status.Allocation.Devices.Config {
		if config.Opaque != nil && config.Opaque.Driver == d.driver {
			return planned, errors.New("the driver takes no parameters")
		}
	}
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.Driver != d.driver {
			continue
		}
		holder, found := d.holders[result.Device]
		if !found || result.Pool != d.node {
			return planned, fmt.Errorf("there is no device %s/%s", result.Pool, result.Device)
		}
		if holder != "" && holder != claim.UID {
			return planned, fmt.Errorf("device %s is prepared for claim %s", result.Device, holder)
		}
		planned.Devices = append(planned.Devices, preparedDevice{
			Request: result.Request, Pool: result.Pool, Device: result.Device,
			CDI: fmt.Sprintf("%s=%s-%s", d.cdiKind(), claim.UID, result.Device),
		})
	}
	return planned, nil
}

// UnprepareResourceClaims needs only the checkpoint: the claims may be gone from the API server.
func (d *driver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	results := make(map[types.UID]error, len(claims))
	for _, claim := range claims {
		results[claim.UID] = d.unprepare(claim.UID)
	}
	return results, nil
}

func (d *driver) unprepare(uid types.UID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, found := d.prepared[uid]
	if !found {
		return nil
	}
	if err := os.Remove(d.cdiFile(uid)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(d.prepared, uid)
	if err := d.writeCheckpoint(); err != nil {
		d.prepared[uid] = known
		return err
	}
	for _, device := range known.Devices {
		d.holders[device.Device] = ""
	}
	return nil
}

func (c preparedClaim) response() []kubeletplugin.Device {
	devices := make([]kubeletplugin.Device, 0, len(c.Devices))
	for _, device := range c.Devices {
		devices = append(devices, kubeletplugin.Device{
			Requests: []string{device.Request}, PoolName: device.Pool, DeviceName: device.Device, CDIDeviceIDs: []string{device.CDI}})
	}
	return devices
}

func (d *driver) cdiKind() string { return "k8s." + d.driver + "/gpu" }

func (d *driver) cdiFile(uid types.UID) string {
	return filepath.Join(d.cdi, strings.ReplaceAll(d.cdiKind(), "/", "-")+"_"+string(uid)+".json")
}

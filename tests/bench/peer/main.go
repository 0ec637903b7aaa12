// peer: a DRA driver as a careful vendor writes it on the Go helper library. `tools/test bench cluster` measures the daemon
// beside it, so every choice here is one that makes the driver faster, as long as a prepared claim survives a restart:
// the client is not throttled, the helper neither serializes nor logs calls, and state that only this process changes is in memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"os/signal"
	"path/filepath"
	"syscall"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

type settings struct {
	driver, node, kubeconfig, kubeletRoot, cdi string
	devices                                    int
	syncFolder                                 bool

	fleet, drivers, claims int // see fleet.go
	namespace              string
}

func main() {
	var s settings
	flag.StringVar(&s.driver, "driver", "", "the driver's name")
	flag.StringVar(&s.node, "node", "", "the node's name, which is also the pool's")
	flag.StringVar(&s.kubeconfig, "kubeconfig", "", "how to reach the API server")
	flag.StringVar(&s.kubeletRoot, "kubelet-root", "/var/lib/kubelet", "the kubelet's --root-dir")
	flag.StringVar(&s.cdi, "cdi", "/var/run/cdi", "folder of CDI files")
	flag.IntVar(&s.devices, "devices", 8, "how many devices the driver has")
	// Off in the drivers that vendors start from. Their checkpoint is durable some seconds after the call.
	flag.BoolVar(&s.syncFolder, "sync-folder", false, "make the new checkpoint durable before a call returns, as the daemon does")
	flag.IntVar(&s.fleet, "fleet", 0, "simulate this many nodes for `tools/test fleet`, without a driver")
	flag.IntVar(&s.drivers, "drivers", 3, "with --fleet: how many drivers a node has")
	flag.IntVar(&s.claims, "claims", 20, "with --fleet: how many claims there are to read")
	flag.StringVar(&s.namespace, "namespace", "bench", "with --fleet: the namespace of the claims")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	start := run
	if s.fleet > 0 {
		start = runFleet
	}
	if err := start(ctx, s); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, s settings) error {
	client, err := newClient(s.kubeconfig)
	if err != nil {
		return err
	}
	folder := filepath.Join(s.kubeletRoot, "plugins", s.driver)
	plugin, err := newDriver(s, folder)
	if err != nil {
		return err
	}
	helper, err := kubeletplugin.Start(ctx, plugin,
		kubeletplugin.DriverName(s.driver),
		kubeletplugin.NodeName(s.node),
		kubeletplugin.KubeClient(client),
		kubeletplugin.PluginDataDirectoryPath(folder),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(s.kubeletRoot, "plugins_registry")),
		kubeletplugin.Serialize(false),
		kubeletplugin.GRPCVerbosity(-1),
		kubeletplugin.HealthService(false),
	)
	if err != nil {
		return fmt.Errorf("start the helper: %w", err)
	}
	defer helper.Stop()
	if err := helper.PublishResources(ctx, resources(s)); err != nil {
		return fmt.Errorf("publish the devices: %w", err)
	}
	<-ctx.Done()
	return nil
}

func newClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

func clientConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no limit; the default of 5 requests a second would make prepares wait for 200 ms
	config.Burst = math.MaxInt32
	return config, nil
}

func resources(s settings) resourceslice.DriverResources {
	devices := make([]resourceapi.Device, s.devices)
	for i := range devices {
		index := int64(i)
		devices[i] = resourceapi.Device{
			Name:       deviceName(i),
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"index": {IntValue: &index}},
		}
	}
	pool := resourceslice.Pool{Slices: []resourceslice.Slice{{Devices: devices}}}
	return resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{s.node: pool}}
}

// HandleError is called for errors in the background.
func (d *driver) HandleError(_ context.Context, err error, msg string) {
	if errors.Is(err, kubeletplugin.ErrRecoverable) {
		log.Printf("%s: %v", msg, err)
		return
	}
	log.Fatalf("%s: %v", msg, err)
}

// WatchHealthStatus is never called: the service is off.
func (d *driver) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}

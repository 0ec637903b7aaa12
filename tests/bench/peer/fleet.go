package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

const readLimit = 10 * time.Second

// fleet is many nodes in one process, each with some drivers. It reads the commands that tests/bench/fleet_nodes.cc describes.
// Nothing serves a kubelet: what is measured is the load of the API server.
type fleet struct {
	settings
	nodes   []*fleetNode
	changed int
	reads   int
}

type fleetNode struct {
	name    string
	drivers []*fleetDriver
}

type fleetDriver struct {
	driver
	client  kubernetes.Interface
	helper  *kubeletplugin.Helper
	tainted []bool
}

func runFleet(ctx context.Context, s settings) error {
	f := &fleet{settings: s}
	for i := range s.fleet {
		node := &fleetNode{name: fmt.Sprintf("fleet-%05d", i)}
		for j := range s.drivers {
			client, err := newUnsharedClient(s.kubeconfig)
			if err != nil {
				return err
			}
			d := &fleetDriver{client: client, tainted: make([]bool, s.devices)}
			d.settings = s
			d.node, d.settings.driver = node.name, fmt.Sprintf("gpu%d.fleet.cardcage.dev", j)
			node.drivers = append(node.drivers, d)
		}
		f.nodes = append(f.nodes, node)
	}
	fmt.Println(`{"ready":true}`)
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		response, err := f.command(ctx, strings.Fields(line))
		if err != nil {
			return err
		}
		fmt.Println(response)
	}
}

// newUnsharedClient makes a client with a connection of its own, as a driver in a process of its own has.
func newUnsharedClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	config.Dial = dialer.DialContext // clients with functions of their own share no transport
	return kubernetes.NewForConfig(config)
}

func (f *fleet) command(ctx context.Context, words []string) (string, error) {
	switch words[0] {
	case "start":
		return `{"done":true}`, f.start(ctx)
	case "touch":
		for _, node := range f.nodes {
			if err := node.drivers[0].change(ctx, 0); err != nil {
				return "", err
			}
		}
		return `{"done":true}`, nil
	case "storm":
		var seconds, changes, reads float64
		if _, err := fmt.Sscan(strings.Join(words[1:], " "), &seconds, &changes, &reads); err != nil {
			return "", err
		}
		return f.storm(ctx, seconds, changes, reads)
	}
	return "", fmt.Errorf("unknown command %q", words[0])
}

// start starts all drivers at the same time, as nodes do after an outage of their power.
func (f *fleet) start(ctx context.Context) error {
	var group sync.WaitGroup
	failures := make(chan error, len(f.nodes)*f.drivers)
	for _, node := range f.nodes {
		for _, d := range node.drivers {
			group.Go(func() {
				if err := d.start(ctx); err != nil {
					failures <- err
				}
			})
		}
	}
	group.Wait()
	close(failures)
	return <-failures
}

func (d *fleetDriver) start(ctx context.Context) error {
	var err error
	d.helper, err = kubeletplugin.Start(ctx, d,
		kubeletplugin.DriverName(d.settings.driver),
		kubeletplugin.NodeName(d.node),
		kubeletplugin.KubeClient(d.client),
		kubeletplugin.PluginDataDirectoryPath(filepath.Join(d.kubeletRoot, d.node, d.settings.driver)),
		kubeletplugin.DRAService(false),
		kubeletplugin.RegistrationService(false),
		kubeletplugin.HealthService(false),
	)
	if err != nil {
		return fmt.Errorf("start the helper: %w", err)
	}
	return d.publish(ctx)
}

func (d *fleetDriver) change(ctx context.Context, device int) error {
	d.tainted[device] = !d.tainted[device]
	return d.publish(ctx)
}

func (d *fleetDriver) publish(ctx context.Context) error {
	published := resources(d.settings)
	devices := published.Pools[d.node].Slices[0].Devices
	for i, tainted := range d.tainted {
		if tainted {
			devices[i].Taints = []resourceapi.DeviceTaint{
				{Key: "fleet.cardcage.dev/unhealthy", Value: "test", Effect: resourceapi.DeviceTaintEffectNoSchedule}}
		}
	}
	return d.helper.PublishResources(ctx, resourceslice.DriverResources{Pools: published.Pools})
}

// HandleError logs: an error of one node must not end the others.
func (d *fleetDriver) HandleError(_ context.Context, err error, msg string) {
	log.Printf("%s: %s: %v", d.node, msg, err)
}

// storm changes the taints of some devices each second and reads claims meanwhile.
func (f *fleet) storm(ctx context.Context, seconds, changes, reads float64) (string, error) {
	var group sync.WaitGroup
	var mu sync.Mutex
	var times []float64
	failed, firstError := 0, ""
	changed, read := 0.0, 0.0
	for begin := time.Now(); time.Since(begin).Seconds() < seconds; {
		time.Sleep(20 * time.Millisecond)
		passed := time.Since(begin).Seconds()
		for ; changed < passed*changes; changed++ {
			if err := f.changeNext(ctx); err != nil {
				return "", err
			}
		}
		for ; read < passed*reads; read++ {
			number := f.reads
			f.reads++
			group.Go(func() {
				begin := time.Now()
				err := f.readClaim(ctx, number)
				mu.Lock()
				defer mu.Unlock()
				times = append(times, float64(time.Since(begin).Microseconds())/1000)
				if err != nil {
					if failed == 0 {
						firstError = err.Error()
					}
					failed++
				}
			})
		}
	}
	group.Wait()
	slices.Sort(times)
	quantile := func(share float64) float64 {
		if len(times) == 0 {
			return 0
		}
		return times[int(share*float64(len(times)-1))]
	}
	return fmt.Sprintf(`{"changes":%.0f,"reads":%.0f,"failed":%d,"p50_ms":%.1f,"p99_ms":%.1f,"error":%q}`,
		changed, read, failed, quantile(0.5), quantile(0.99), firstError), nil
}

func (f *fleet) changeNext(ctx context.Context) error {
	number := f.changed
	f.changed++
	node := f.nodes[number%len(f.nodes)]
	return node.drivers[number/len(f.nodes)%f.drivers].change(ctx, number/len(f.nodes)/f.drivers%f.devices)
}

func (f *fleet) readClaim(ctx context.Context, number int) error {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	client := f.nodes[number%len(f.nodes)].drivers[0].client
	_, err := client.ResourceV1().ResourceClaims(f.namespace).Get(ctx, fmt.Sprintf("claim-%d", number%f.claims), metav1.GetOptions{})
	return err
}

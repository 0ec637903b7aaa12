module cardcage.dev/tests/cluster/programs/nvidia-manifests

go 1.26.0

require sigs.k8s.io/dra-driver-nvidia-gpu v0.5.0

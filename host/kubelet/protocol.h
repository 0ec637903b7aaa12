// The kubelet's gRPC packages under telling names: Kubernetes calls three of them just "v1…".
#pragma once

#include "kubelet/deviceplugin/v1beta1/api.grpc.pb.h"
#include "kubelet/dra/v1/api.grpc.pb.h"
#include "kubelet/dra/v1beta1/api.grpc.pb.h"
#include "kubelet/health/v1/api.grpc.pb.h"
#include "kubelet/health/v1alpha1/api.grpc.pb.h"
#include "kubelet/podresources/v1/api.grpc.pb.h"
#include "kubelet/pods/v1alpha1/api.grpc.pb.h"
#include "kubelet/registration/v1/api.grpc.pb.h"
#include "kubernetes/core/v1/pod.pb.h"

namespace cardcage::api {

namespace dra_v1 = ::k8s::io::kubelet::pkg::apis::dra::v1;
namespace dra_v1beta1 = ::k8s::io::kubelet::pkg::apis::dra::v1beta1;
namespace health_v1 = ::v1;
namespace health_v1alpha1 = ::v1alpha1;
namespace registration = ::pluginregistration;
namespace device_plugin = ::v1beta1;
namespace pod_resources = ::v1;
namespace pods = ::v1alpha1;
namespace core = ::k8s::io::api::core::v1;

// The kubelet keeps gRPC-Go's default limit for messages that it receives.
constexpr int kMaxAnswerBytes = 4 * 1024 * 1024;

}  // namespace cardcage::api

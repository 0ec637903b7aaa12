// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/*
 * An RDMA device without hardware, which moves between network namespaces as those of cards do. Soft-RoCE does not:
 * it cannot take its contexts back from programs. A parameter names the PCI function that the device belongs to:
 *   echo 0000:01:10.0 > /sys/module/rdma_card/parameters/function     (an empty line removes the device)
 * And an InfiniBand interface, by which a card with virtual functions keeps their GUIDs:
 *   echo 0000:01:00.0 > /sys/module/rdma_card/parameters/interface    (the same)
 */
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <rdma/ib_verbs.h>

struct rdma_card {
  struct ib_device ib;
  struct pci_dev* function;
};

static struct rdma_card* the_card;

static int query_device(struct ib_device* device, struct ib_device_attr* attributes, struct ib_udata* data) {
  return 0;
}

static int query_port(struct ib_device* device, u32 port, struct ib_port_attr* attributes) {
  attributes->state = IB_PORT_ACTIVE;
  attributes->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
  attributes->active_width = IB_WIDTH_4X;
  attributes->active_speed = IB_SPEED_EDR;
  attributes->gid_tbl_len = 1;
  attributes->pkey_tbl_len = 1;
  return 0;
}

static int get_port_immutable(struct ib_device* device, u32 port, struct ib_port_immutable* immutable) {
  immutable->core_cap_flags = RDMA_CORE_PORT_RAW_PACKET;
  immutable->gid_tbl_len = 1;
  immutable->pkey_tbl_len = 1;
  return 0;
}

static int query_gid(struct ib_device* device, u32 port, int index, union ib_gid* gid) {
  memset(gid, 0, sizeof(*gid));
  return 0;
}

static int query_pkey(struct ib_device* device, u32 port, u16 index, u16* pkey) {
  *pkey = 0xffff;
  return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device* device, u32 port) { return IB_LINK_LAYER_ETHERNET; }

static int alloc_ucontext(struct ib_ucontext* context, struct ib_udata* data) { return 0; }

static void dealloc_ucontext(struct ib_ucontext* context) {}

/* The core moves only devices of drivers with this operation. */
static void disassociate_ucontext(struct ib_ucontext* context) {}

struct rdma_card_context {
  struct ib_ucontext ib;
};

static const struct ib_device_ops operations = {
    .owner = THIS_MODULE,
    .uverbs_abi_ver = 1,
    .query_device = query_device,
    .query_port = query_port,
    .get_port_immutable = get_port_immutable,
    .query_gid = query_gid,
    .query_pkey = query_pkey,
    .get_link_layer = get_link_layer,
    .alloc_ucontext = alloc_ucontext,
    .dealloc_ucontext = dealloc_ucontext,
    .disassociate_ucontext = disassociate_ucontext,
    INIT_RDMA_OBJ_SIZE(ib_ucontext, rdma_card_context, ib),
};

static void remove_card(void) {
  struct pci_dev* function;

  if (!the_card) return;
  function = the_card->function;
  ib_unregister_device(&the_card->ib);
  ib_dealloc_device(&the_card->ib);
  pci_dev_put(function);
  the_card = NULL;
}

static int add_card(struct pci_dev* function) {
  struct rdma_card* card = ib_alloc_device(rdma_card, ib);
  int error;

  if (!card) return -ENOMEM;
  card->function = function;
  card->ib.node_type = RDMA_NODE_IB_CA;
  card->ib.phys_port_cnt = 1;
  card->ib.num_comp_vectors = 1;
  card->ib.dev.parent = &function->dev;
  ib_set_device_ops(&card->ib, &operations);
  error = ib_register_device(&card->ib, "card%d", NULL);
  if (error) {
    ib_dealloc_device(&card->ib);
    return error;
  }
  the_card = card;
  return 0;
}

/* Takes a reference. Returns NULL for an empty line. */
static struct pci_dev* function_named(const char* value) {
  unsigned int domain, bus, slot, number;
  struct pci_dev* function;

  if (sscanf(value, "%x:%x:%x.%u", &domain, &bus, &slot, &number) != 4) return NULL;
  function = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, number));
  return function ? function : ERR_PTR(-ENODEV);
}

static int set_function(const char* value, const struct kernel_param* parameter) {
  struct pci_dev* function = function_named(value);
  int error;

  remove_card();
  if (IS_ERR_OR_NULL(function)) return PTR_ERR_OR_ZERO(function);
  error = add_card(function);
  if (error) pci_dev_put(function);
  return error;
}

static const struct kernel_param_ops function_operations = {.set = set_function};
module_param_cb(function, &function_operations, NULL, 0200);

#define VIRTUAL_FUNCTIONS 8

static struct net_device* the_interface;
static u64 node_guids[VIRTUAL_FUNCTIONS], port_guids[VIRTUAL_FUNCTIONS];

static netdev_tx_t transmit(struct sk_buff* frame, struct net_device* interface) {
  dev_kfree_skb(frame);
  return NETDEV_TX_OK;
}

static int get_vf_config(struct net_device* interface, int number, struct ifla_vf_info* info) {
  if (number >= VIRTUAL_FUNCTIONS) return -EINVAL;
  info->vf = number;
  return 0;
}

static int get_vf_guid(struct net_device* interface, int number, struct ifla_vf_guid* node, struct ifla_vf_guid* port) {
  if (number >= VIRTUAL_FUNCTIONS) return -EINVAL;
  node->guid = node_guids[number];
  port->guid = port_guids[number];
  return 0;
}

static int set_vf_guid(struct net_device* interface, int number, u64 guid, int type) {
  if (number >= VIRTUAL_FUNCTIONS) return -EINVAL;
  if (type == IFLA_VF_IB_NODE_GUID)
    node_guids[number] = guid;
  else
    port_guids[number] = guid;
  return 0;
}

static const struct net_device_ops interface_operations = {
    .ndo_start_xmit = transmit,
    .ndo_get_vf_config = get_vf_config,
    .ndo_get_vf_guid = get_vf_guid,
    .ndo_set_vf_guid = set_vf_guid,
};

static void set_up(struct net_device* interface) {
  interface->type = ARPHRD_INFINIBAND;
  interface->addr_len = 20;
  interface->mtu = 2044;
  interface->netdev_ops = &interface_operations;
}

static void remove_interface(void) {
  struct pci_dev* function;

  if (!the_interface) return;
  function = to_pci_dev(the_interface->dev.parent);
  unregister_netdev(the_interface);
  free_netdev(the_interface);
  pci_dev_put(function);
  the_interface = NULL;
}

/* Gives the interface a name that sorts before those of Ethernet, so that it counts as the card's only one. */
static int set_interface(const char* value, const struct kernel_param* parameter) {
  struct pci_dev* function = function_named(value);
  struct net_device* interface;
  int error;

  remove_interface();
  if (IS_ERR_OR_NULL(function)) return PTR_ERR_OR_ZERO(function);
  interface = alloc_netdev(0, "aib%d", NET_NAME_ENUM, set_up);
  if (!interface) {
    pci_dev_put(function);
    return -ENOMEM;
  }
  SET_NETDEV_DEV(interface, &function->dev);
  error = register_netdev(interface);
  if (error) {
    free_netdev(interface);
    pci_dev_put(function);
    return error;
  }
  the_interface = interface;
  return 0;
}

static const struct kernel_param_ops interface_parameter = {.set = set_interface};
module_param_cb(interface, &interface_parameter, NULL, 0200);

MODULE_DESCRIPTION("RDMA device and InfiniBand interface without hardware, for tests");
MODULE_LICENSE("GPL");

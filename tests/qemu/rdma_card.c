// SPDX-License-Identifier: GPL-2.0
/*
 * An RDMA device without hardware, which moves between network namespaces as those of cards do. Soft-RoCE does not:
 * it cannot take its contexts back from programs. A parameter names the PCI function that the device belongs to:
 *   echo 0000:01:10.0 > /sys/module/rdma_card/parameters/function     (an empty line removes the device)
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <rdma/ib_verbs.h>

struct rdma_card {
	struct ib_device ib;
	struct pci_dev *function;
};

static struct rdma_card *the_card;

static int query_device(struct ib_device *device, struct ib_device_attr *attributes, struct ib_udata *data)
{
	return 0;
}

static int query_port(struct ib_device *device, u32 port, struct ib_port_attr *attributes)
{
	attributes->state = IB_PORT_ACTIVE;
	attributes->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attributes->active_width = IB_WIDTH_4X;
	attributes->active_speed = IB_SPEED_EDR;
	attributes->gid_tbl_len = 1;
	attributes->pkey_tbl_len = 1;
	return 0;
}

static int get_port_immutable(struct ib_device *device, u32 port, struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_RAW_PACKET;
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	return 0;
}

static int query_gid(struct ib_device *device, u32 port, int index, union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	return 0;
}

static int query_pkey(struct ib_device *device, u32 port, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device *device, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int alloc_ucontext(struct ib_ucontext *context, struct ib_udata *data)
{
	return 0;
}

static void dealloc_ucontext(struct ib_ucontext *context)
{
}

/* The core moves only devices of drivers that have this. */
static void disassociate_ucontext(struct ib_ucontext *context)
{
}

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

static void remove_card(void)
{
	struct pci_dev *function;

	if (!the_card)
		return;
	function = the_card->function;
	ib_unregister_device(&the_card->ib);
	ib_dealloc_device(&the_card->ib);
	pci_dev_put(function);
	the_card = NULL;
}

static int add_card(struct pci_dev *function)
{
	struct rdma_card *card = ib_alloc_device(rdma_card, ib);
	int error;

	if (!card)
		return -ENOMEM;
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

static int set_function(const char *value, const struct kernel_param *parameter)
{
	unsigned int domain, bus, slot, number;
	struct pci_dev *function;
	int error;

	remove_card();
	if (sscanf(value, "%x:%x:%x.%u", &domain, &bus, &slot, &number) != 4)
		return 0;
	function = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, number));
	if (!function)
		return -ENODEV;
	error = add_card(function);
	if (error)
		pci_dev_put(function);
	return error;
}

static const struct kernel_param_ops function_operations = { .set = set_function };
module_param_cb(function, &function_operations, NULL, 0200);

MODULE_DESCRIPTION("RDMA device without hardware, for tests of network namespaces");
MODULE_LICENSE("GPL");

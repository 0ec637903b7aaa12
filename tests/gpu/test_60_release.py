"""A quiesced module leaves the driver alone: the driver can be unloaded, and the card reset."""

from waiting import until


def test_quiesced_module_holds_nothing(machine, daemon):
    def held() -> list[str]:
        return sorted(path for path in daemon.open_files() if machine.holds_driver(path))

    before = daemon.devices()
    assert held(), "the running module has no file of the driver open, so this test could not tell"
    daemon.cagectl("module", "quiesce", "nvidia", "--reason", "the test of its release")
    try:
        assert not held(), f"open files: the quiesced daemon has {held()}, expected none"
    finally:
        daemon.cagectl("module", "resume", "nvidia")

    def restored() -> bool:
        now = daemon.devices()
        return now.keys() == before.keys() and all(now[each]["health"]["state"] == before[each]["health"]["state"] for each in now)

    until(restored, "all devices are there again, as healthy as before", 60)
    until(held, "the module has opened the driver again", 10)

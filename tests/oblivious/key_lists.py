"""Reads a list of key configurations, as a gateway shows it."""

from untrackable.oblivious.key_config import KeyConfig


def configs_from_bytes(data: bytes) -> tuple[KeyConfig, ...]:
    configs: list[KeyConfig] = []
    while data:
        end = 2 + int.from_bytes(data[:2], "big")
        configs.append(KeyConfig.from_bytes(data[2:end]))
        data = data[end:]
    return tuple(configs)

"""Messages to the kernel about a namespace's routes; tests/cluster/test_tensorboard_node.py sends
them."""

from __future__ import annotations

import errno
import struct

import pytest

from spawner.node.network import loopback


def test_each_request_has_its_own_length() -> None:
    requests = list(loopback._list_requests())
    assert len(requests) >= len(loopback.IPV4)
    for request in requests:
        length, *_ = loopback.HEADER.unpack_from(request)
        assert length == len(request)
        assert length % 4 == 0


def test_a_refusal_is_an_error_and_a_confirmation_is_none() -> None:
    answer = loopback.HEADER.pack(20, loopback.NLMSG_ERROR, 0, 1, 0)
    loopback._check(answer + struct.pack("=i", 0))
    with pytest.raises(PermissionError, match="the route can't be changed"):
        loopback._check(answer + struct.pack("=i", -errno.EPERM))

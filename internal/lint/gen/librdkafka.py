"""Prints the configuration table that the librdkafka inside confluent-kafka carries."""
import ctypes
import glob
import os
import confluent_kafka

wheel = os.path.dirname(os.path.dirname(confluent_kafka.__file__))
lib = ctypes.CDLL(glob.glob(wheel + "/confluent_kafka.libs/librdkafka-*")[0])
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
libc.fflush.argtypes = lib.rd_kafka_conf_properties_show.argtypes = [ctypes.c_void_p]
out = libc.fdopen(1, b"w")
lib.rd_kafka_conf_properties_show(out)
libc.fflush(out)

/* perfetto_fields.h: the field numbers of Perfetto's trace format that plumb writes and those that
 * it only reads, as its public proto files have them (github.com/google/perfetto, folder
 * protos/perfetto):
 *
 *   trace/trace.proto                            Trace
 *   trace/trace_packet.proto                     TracePacket
 *   trace/trace_packet_defaults.proto            TracePacketDefaults
 *   trace/trace_uuid.proto                       TraceUuid
 *   trace/clock_snapshot.proto                   ClockSnapshot
 *   common/builtin_clock.proto                   BuiltinClock
 *   common/trace_attributes.proto                TraceAttributes
 *   common/trace_stats.proto                     TraceStats
 *   trace/interned_data/interned_data.proto      InternedData
 *   trace/profiling/profile_common.proto         InternedString
 *   trace/track_event/track_descriptor.proto     TrackDescriptor
 *   trace/track_event/process_descriptor.proto   ProcessDescriptor
 *   trace/track_event/thread_descriptor.proto    ThreadDescriptor
 *   trace/track_event/counter_descriptor.proto   CounterDescriptor
 *   trace/track_event/debug_annotation.proto     DebugAnnotation
 *   trace/track_event/track_event.proto          TrackEvent, TrackEventDefaults, EventCategory,
 *                                                EventName
 *   trace/track_event/debug_annotation.proto     DebugAnnotation, DebugAnnotationName
 *
 * Names are those of the proto files in capitals. Numbers of a published format never change. */
#ifndef PLUMB_CODEC_PERFETTO_FIELDS_H
#define PLUMB_CODEC_PERFETTO_FIELDS_H

enum { PF_TRACE_PACKET = 1 };

enum {
    PF_PACKET_CLOCK_SNAPSHOT = 6,
    PF_PACKET_TIMESTAMP = 8,
    PF_PACKET_SEQUENCE_ID = 10, /* trusted_packet_sequence_id */
    PF_PACKET_TRACK_EVENT = 11,
    PF_PACKET_INTERNED_DATA = 12,
    PF_PACKET_SEQUENCE_FLAGS = 13,
    PF_PACKET_TRACE_STATS = 35,
    PF_PACKET_PREVIOUS_PACKET_DROPPED = 42,
    PF_PACKET_PROCESS_DESCRIPTOR = 43, /* read only: older writers */
    PF_PACKET_THREAD_DESCRIPTOR = 44,  /* likewise */
    PF_PACKET_COMPRESSED = 50,         /* compressed_packets */
    PF_PACKET_TIMESTAMP_CLOCK_ID = 58,
    PF_PACKET_DEFAULTS = 59, /* trace_packet_defaults */
    PF_PACKET_TRACK_DESCRIPTOR = 60,
    PF_PACKET_FIRST_ON_SEQUENCE = 87, /* first_packet_on_sequence */
    PF_PACKET_TRACE_UUID = 89,
    PF_PACKET_TRACE_ATTRIBUTES = 126,
};
enum { PF_SEQUENCE_STATE_CLEARED = 1, PF_SEQUENCE_NEEDS_STATE = 2 };

enum { PF_DEFAULTS_TRACK_EVENT = 11, PF_DEFAULTS_TIMESTAMP_CLOCK_ID = 58 };

enum { PF_UUID_MSB = 1, PF_UUID_LSB = 2 };

enum { PF_SNAPSHOT_CLOCKS = 1, PF_SNAPSHOT_PRIMARY_TRACE_CLOCK = 2 };
enum { PF_CLOCK_ID = 1, PF_CLOCK_TIMESTAMP = 2, PF_CLOCK_IS_INCREMENTAL = 3, PF_CLOCK_UNIT_NS = 4 };
enum { PF_CLOCK_REALTIME = 1, PF_CLOCK_MONOTONIC = 3, PF_CLOCK_BOOTTIME = 6 };
/* 64 to 127 belong to the writer of a sequence. */
enum { PF_CLOCK_RUN_INCREMENTAL = 64, PF_CLOCK_RUN_ABSOLUTE = 65 };

enum { PF_STATS_BUFFER_STATS = 1, PF_STATS_WRITER_STATS = 18 };
enum { PF_BUFFER_STATS_TRACE_WRITER_PACKET_LOSS = 19 };
enum { PF_WRITER_STATS_SEQUENCE_ID = 1, PF_WRITER_STATS_BUFFER = 4 };

enum { PF_ATTRIBUTES_ATTRIBUTE = 1 };
enum { PF_ATTRIBUTE_KEY = 1, PF_ATTRIBUTE_LONG_VALUE = 2, PF_ATTRIBUTE_STRING_VALUE = 3 };

enum {
    PF_INTERNED_EVENT_CATEGORIES = 1,
    PF_INTERNED_EVENT_NAMES = 2,
    PF_INTERNED_DEBUG_ANNOTATION_NAMES = 3,
    PF_INTERNED_DEBUG_ANNOTATION_STRING_VALUES = 29,
};
/* EventCategory, EventName, DebugAnnotationName and InternedString agree on these. */
enum { PF_ENTRY_IID = 1, PF_ENTRY_TEXT = 2 };

enum {
    PF_TRACK_UUID = 1,
    PF_TRACK_NAME = 2,
    PF_TRACK_PROCESS = 3,
    PF_TRACK_THREAD = 4,
    PF_TRACK_PARENT_UUID = 5,
    PF_TRACK_COUNTER = 8,
    PF_TRACK_STATIC_NAME = 10,
    PF_TRACK_CHILD_ORDERING = 11,
    PF_TRACK_SIBLING_ORDER_RANK = 12,
    PF_TRACK_ATRACE_NAME = 13,
    PF_TRACK_SIBLING_MERGE_BEHAVIOR = 15,
};
enum { PF_SIBLING_MERGE_NONE = 2 };
enum { PF_PROCESS_PID = 1, PF_PROCESS_CMDLINE = 2, PF_PROCESS_NAME = 6 };
enum { PF_THREAD_PID = 1, PF_THREAD_TID = 2, PF_THREAD_NAME = 5, PF_THREAD_REFERENCE_US = 6 };
enum {
    PF_COUNTER_UNIT = 3,
    PF_COUNTER_UNIT_MULTIPLIER = 4,
    PF_COUNTER_IS_INCREMENTAL = 5,
    PF_COUNTER_UNIT_NAME = 6,
};

enum {
    PF_EVENT_TIMESTAMP_DELTA_US = 1,
    PF_EVENT_CATEGORY_IIDS = 3,
    PF_EVENT_DEBUG_ANNOTATIONS = 4,
    PF_EVENT_LEGACY = 6,
    PF_EVENT_TYPE = 9,
    PF_EVENT_NAME_IID = 10,
    PF_EVENT_TRACK_UUID = 11, /* of TrackEventDefaults too */
    PF_EVENT_EXTRA_COUNTER_VALUES = 12,
    PF_EVENT_TIMESTAMP_ABSOLUTE_US = 16,
    PF_EVENT_CATEGORIES = 22,
    PF_EVENT_NAME = 23,
    PF_EVENT_COUNTER_VALUE = 30,
    PF_EVENT_EXTRA_COUNTER_TRACKS = 31, /* of TrackEventDefaults too */
    PF_EVENT_FLOW_IDS_OLD = 36,
    PF_EVENT_TERMINATING_FLOW_IDS_OLD = 42,
    PF_EVENT_DOUBLE_COUNTER_VALUE = 44,
    PF_EVENT_EXTRA_DOUBLE_COUNTER_TRACKS = 45, /* of TrackEventDefaults too */
    PF_EVENT_EXTRA_DOUBLE_COUNTER_VALUES = 46,
    PF_EVENT_FLOW_IDS = 47,             /* fixed64 */
    PF_EVENT_TERMINATING_FLOW_IDS = 48, /* fixed64 */
};

enum {
    PF_ANNOTATION_NAME_IID = 1,
    PF_ANNOTATION_BOOL_VALUE = 2,
    PF_ANNOTATION_UINT_VALUE = 3,
    PF_ANNOTATION_INT_VALUE = 4,
    PF_ANNOTATION_DOUBLE_VALUE = 5,
    PF_ANNOTATION_STRING_VALUE = 6,
    PF_ANNOTATION_POINTER_VALUE = 7,
    PF_ANNOTATION_NESTED_VALUE = 8,
    PF_ANNOTATION_LEGACY_JSON_VALUE = 9,
    PF_ANNOTATION_NAME = 10,
    PF_ANNOTATION_DICT_ENTRIES = 11,
    PF_ANNOTATION_ARRAY_VALUES = 12,
    PF_ANNOTATION_STRING_VALUE_IID = 17,
};

/* DebugAnnotation.NestedValue */
enum {
    PF_NESTED_DICT_KEYS = 2,
    PF_NESTED_DICT_VALUES = 3,
    PF_NESTED_ARRAY_VALUES = 4,
    PF_NESTED_INT_VALUE = 5,
    PF_NESTED_DOUBLE_VALUE = 6,
    PF_NESTED_BOOL_VALUE = 7,
    PF_NESTED_STRING_VALUE = 8,
};

/* TrackEvent.LegacyEvent */
enum {
    PF_LEGACY_NAME_IID = 1,
    PF_LEGACY_PHASE = 2,
    PF_LEGACY_DURATION_US = 3,
    PF_LEGACY_UNSCOPED_ID = 6,
    PF_LEGACY_LOCAL_ID = 10,
    PF_LEGACY_GLOBAL_ID = 11,
    PF_LEGACY_PID_OVERRIDE = 18,
    PF_LEGACY_TID_OVERRIDE = 19,
};

#endif

# Makes a .proto file that protoc-c understands:
#   cmake -DIN=FILE -DOUT=FILE -P proto_for_c.cmake
# protoc-c 1.4 does not know `optional` of proto3, which stands for a oneof of a single field: this is
# what it becomes, named opt_<field>.
file(READ "${IN}" text)
string(REGEX REPLACE "optional ([A-Za-z0-9_.]+) ([a-z0-9_]+) = ([0-9]+);"
  "oneof opt_\\2 { \\1 \\2 = \\3; }" text "${text}")
file(WRITE "${OUT}" "${text}")

# Writes a file as a C array with a NUL at its end, which does not count for the size:
#   cmake -DIN=FILE -DOUT=FILE.c -DNAME=array [-DSIZE=constant] -DHEADER=header -P text_as_c.cmake
file(READ "${IN}" hex HEX)
string(LENGTH "${hex}" size)
math(EXPR size "${size} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
file(WRITE "${OUT}" "#include \"${HEADER}\"\n\nconst char ${NAME}[] = {\n${hex}0};\n")
if(SIZE)
  file(APPEND "${OUT}" "const size_t ${SIZE} = ${size};\n")
endif()

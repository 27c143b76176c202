# Writes a text file as a C array with a NUL at its end:
#   cmake -DIN=FILE -DOUT=FILE.c -DNAME=array -DHEADER=header -P text_as_c.cmake
file(READ "${IN}" hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE "${OUT}" "#include \"${HEADER}\"\n\nconst char ${NAME}[] = {\n${hex}0};\n")

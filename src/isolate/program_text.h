/* program_text.h: the parts of a generated program that are the same in all of them, as texts of
 * the files named after them. The build makes these (cmake/text_as_c.cmake). Each ends with a
 * NUL. */
#ifndef PLUMB_ISOLATE_PROGRAM_TEXT_H
#define PLUMB_ISOLATE_PROGRAM_TEXT_H

extern const char plumb_random_fill_text[];
extern const char plumb_value_hash_body_text[];
extern const char plumb_program_types_body_text[];
extern const char plumb_program_options_body_text[];
extern const char plumb_program_inputs_body_text[];
extern const char plumb_program_main_body_text[];

#endif

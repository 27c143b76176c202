/* The number type of the network: float. The gradient test compiles the same sources with
 * -DREAL=double, where a finite difference leaves enough digits to be compared with. */
#ifndef TRAIN_CLASSIFIER_REAL_H
#define TRAIN_CLASSIFIER_REAL_H

#ifndef REAL
#define REAL float
#endif

typedef REAL real;

#endif

/* The types of the native core. */

#ifndef OBORONA_CORE_H
#define OBORONA_CORE_H

#include <Python.h>

extern PyType_Spec hasher_spec;

#endif

# Imported targets: ackclock::ackclock (shared), ackclock::static.
get_filename_component(_ackclock "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET ackclock::ackclock)
  add_library(ackclock::ackclock SHARED IMPORTED)
  set_target_properties(ackclock::ackclock PROPERTIES
    IMPORTED_LOCATION "${_ackclock}/lib/libackclock.so.1"
    INTERFACE_INCLUDE_DIRECTORIES "${_ackclock}/include")
  add_library(ackclock::static STATIC IMPORTED)
  set_target_properties(ackclock::static PROPERTIES
    IMPORTED_LOCATION "${_ackclock}/lib/libackclock.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_ackclock}/include"
    INTERFACE_LINK_LIBRARIES "pthread;dl;m")
endif()
